"""An audit at the step level as text: the verdict, the claim beside it, and what is told."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from audit.render import suspicion
from audit.render.plain import clean, clean_lines
from audit.render.text import NAME_LIMIT, STYLES, plain_table, rendered
from audit.render.words import SIGNS, Sign, e_value, fixed
from audit.stepping.record import Claim, StepCase, StepRecord
from audit.verdict import SCOPE, Outcome, Verdict

_ORDER = list(Outcome)
_SENTENCE = 1_000
_NOT_TESTED = "Not tested: state, performance."


def first_line(record: StepRecord) -> str:
    """Returns the outcome and the sentence to read first."""
    name = clean(record.sampler.name, NAME_LIMIT)
    sign = SIGNS[record.verdict.outcome].sign
    return f"{sign} {record.verdict.word}  {name}: {clean(record.verdict.sentence, _SENTENCE)}"


def step_text(record: StepRecord, *, color: bool, width: int) -> str:
    """Returns the whole result, `width` columns wide."""
    verdict = record.verdict
    parts: list[RenderableType] = [
        Text(settings_line(record), style="dim"),
        "",
        _emitted(record.cases),
        "",
        Text("What is claimed of the drafts"),
        _claims(record.cases, record.settings.epsilon),
        "",
        Text(first_line(record), style=STYLES[SIGNS[verdict.outcome].tone]),
        *(Text(f"told: {clean(sentence, _SENTENCE)}") for sentence in record.told),
        *(Text(line) for line in suspicion.lines(record.diagnoses)),
        *_alone(record.alone),
        *([Text(clean_lines(record.detail))] if record.detail else []),
        "",
        *(Text(note, style="dim") for note in _notes(record)),
    ]
    return rendered(parts, color=color, width=width)


def settings_line(record: StepRecord) -> str:
    """Returns one line that says under which settings the audit stands."""
    s = record.settings
    return (
        f"step level, tier {s.tier}, up to {s.cap:,} rounds a case, epsilon {s.epsilon:g}, alpha "
        f"{s.alpha:g}, delta {s.delta:g}, seed {s.seed}, {s.dtype} on {s.device}, "
        f"{record.seconds:.0f} s"
    )


def wrong_first(cases: Iterable[StepCase]) -> list[StepCase]:
    """Returns the cases whose claim is wrong, then the others."""
    return sorted(cases, key=lambda case: not case.claim.wrong)


def worst_first(cases: Iterable[StepCase]) -> list[StepCase]:
    """Returns the cases by outcome, worst first."""
    return sorted(cases, key=lambda case: _ORDER.index(case.verdict.outcome))


def _emitted(cases: Iterable[StepCase]) -> Table:
    numbers = ("rounds", "rejections", "TV", "(null)", "U", "e-value")
    table = plain_table("case", "emitted", *numbers, numbers=numbers)
    for case in worst_first(cases):
        seen = case.total_variation
        estimate, null_mean = (None, None) if seen is None else (seen.estimate, seen.null_mean)
        table.add_row(
            Text(clean(case.id, NAME_LIMIT), overflow="fold"),
            _word(case.verdict),
            f"{case.rounds:,}",
            f"{case.rejections:,}",
            fixed(estimate),
            f"({fixed(null_mean)})",
            fixed(case.certified),
            e_value(case.gate.log_e),
        )
    return table


def _word(verdict: Verdict) -> Text:
    sign, tone = SIGNS[verdict.outcome]
    return Text(f"{sign} {verdict.word}", style=STYLES[tone], no_wrap=True)


def _claims(cases: Iterable[StepCase], epsilon: float) -> Table:
    table = plain_table("case", "claim", "TV", "U", "drafted", "claimed", numbers=("TV", "U"))
    for case in wrong_first(cases):
        claim, worst = case.claim, case.claim.worst
        estimate, upper = (None, None) if worst is None else (worst.estimate, worst.upper)
        sign = claim_sign(claim, epsilon)
        table.add_row(
            Text(clean(case.id, NAME_LIMIT), overflow="fold"),
            Text(sign.sign, style=STYLES[sign.tone], no_wrap=True),
            fixed(estimate),
            fixed(upper),
            clean(claim.drawn),
            clean(claim.claimed),
        )
    return table


def claim_sign(claim: Claim, epsilon: float) -> Sign:
    """Returns whether a claim is wrong, holds within epsilon, or is neither known to be."""
    if not claim.distances:
        return Sign("– none", "open")
    if claim.wrong:
        return Sign("✗ wrong", "bad")
    if all(one.upper <= epsilon for one in claim.distances):
        return Sign("✓ holds", "good")
    return Sign("? open", "open")


def _alone(verdict: Verdict | None) -> list[Text]:
    if verdict is None:
        return []
    sentence = clean(verdict.sentence, _SENTENCE)
    return [Text(f"its verifying half alone, on drafts of the harness: {verdict.word}, {sentence}")]


def _notes(record: StepRecord) -> list[str]:
    notes = [SCOPE]
    if record.verdict.outcome is Outcome.PASS and record.not_excluded is not None:
        unseen = ", ".join(sorted(record.not_excluded)) or "none"
        notes.append(f"Catalogued faults that this run does not exclude: {unseen}.")
    return [*notes, _NOT_TESTED]
