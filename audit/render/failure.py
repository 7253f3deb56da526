"""What a failed test says: case, step, position, token, bound, and the command for it alone."""

from __future__ import annotations

from audit.evidence import Evidence
from audit.record import Record
from audit.render import suspicion, words
from audit.render.findings import Judged, again, explained
from audit.render.plain import clean

MOST_LINES = 5


def failure_text(one: Judged, record: Record) -> str:
    """Returns the lines about what did not pass."""
    heading = f"{words.SIGNS[one.verdict.outcome].sign} {one.verdict.word}  {one.name}"
    steps = suspicion.of_case(record.diagnoses, one.case.id) if one.case else []
    evidence = one.case.evidence if one.case else None
    lines = [
        explained(one),
        *steps[:MOST_LINES],
        *(_evidence(evidence, record) if evidence else []),
        again(one, record),
    ]
    about = f"{heading}  ({clean(record.sampler.name)})"
    return "\n".join([about, *(f"  {clean(line, 1_000)}" for line in lines if line)])


def _evidence(evidence: Evidence, record: Record) -> list[str]:
    tv = evidence.views[0].total_variation
    bounds = (
        f"TV {words.fixed(tv.estimate)} (mean if correct {words.fixed(tv.null_mean)}), bounds "
        f"{words.fixed(tv.lower)} to {words.fixed(tv.upper)}, epsilon {record.settings.epsilon:g}"
    )
    return [*evidence.traces[:MOST_LINES], bounds]
