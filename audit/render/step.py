"""An audit at the step level as text: the verdict, the claim beside it, and what is told."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from audit.plural import counted
from audit.render import suspicion
from audit.render.plain import clean, clean_lines
from audit.render.terminal import STYLES, plain_table, rendered
from audit.render.text import NAME_LIMIT
from audit.render.words import NOT_TESTED, SIGNS, Sign, e_value, fixed
from audit.stepping.record import Claim, StepCase, StepRecord
from audit.verdict import INTERRUPTED, SCOPE, Outcome, Verdict

_ORDER = list(Outcome)
_SENTENCE = 1_000
ALONE = "its verifying half, on drafts of another proposal"
INTERRUPTION = "Interrupted: judged by the rounds that were made."
_OPEN, _NONE = Sign("? open", "open"), Sign("– none", "open")


def first_line(record: StepRecord) -> str:
    """Returns the outcome and the sentence to read first."""
    name = clean(record.sampler.name, NAME_LIMIT)
    sign = SIGNS[record.verdict.outcome].sign
    return f"{sign} {record.verdict.word}  {name}: {clean(record.verdict.sentence, _SENTENCE)}"


def step_text(record: StepRecord, *, color: bool, width: int, verbose: bool = False) -> str:
    """Returns the whole result, `width` columns wide; `verbose` adds a sampler's traceback."""
    verdict = record.verdict
    parts: list[RenderableType] = [
        Text(settings_line(record), style="dim"),
        "",
        _emitted(record.cases),
        "",
        Text("What is claimed of the drafts"),
        _claims(record.cases, record.settings.epsilon),
        *(Text(line, style="dim") for line in legend(record)),
        "",
        Text(first_line(record), style=STYLES[SIGNS[verdict.outcome].tone]),
        *(Text(f"told: {clean(sentence, _SENTENCE)}") for sentence in record.told),
        *(Text(line) for line in suspicion.lines(record.diagnoses)),
        *_alone(record),
        *([Text(clean_lines(record.detail))] if verbose and record.detail else []),
        "",
        *(Text(note, style="dim") for note in notes(record)),
    ]
    return rendered(parts, color=color, width=width)


def settings_line(record: StepRecord) -> str:
    """Returns one line that says under which settings the audit stands."""
    s = record.settings
    return (
        f"step level, tier {s.tier}, up to {counted(s.cap, 'round')} a case, epsilon "
        f"{s.epsilon:g}, alpha {s.alpha:g}, delta {s.delta:g}, seed {s.seed}, {s.dtype} on "
        f"{s.device}, {record.seconds:.0f} s"
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
        estimate = None if worst is None else worst.estimate
        sign = claim_sign(claim, epsilon)
        table.add_row(
            Text(clean(case.id, NAME_LIMIT), overflow="fold"),
            Text(sign.sign, style=STYLES[sign.tone], no_wrap=True),
            fixed(estimate),
            fixed(claim.bound),
            clean(claim.drawn),
            clean(claim.claimed),
        )
    return table


def claim_sign(claim: Claim, epsilon: float) -> Sign:
    """Returns whether a claim is wrong, holds within epsilon, or is neither known to be."""
    if not claim.distances:
        return _NONE
    if claim.wrong:
        return Sign("✗ wrong", "bad")
    if claim.bound is not None and claim.bound <= epsilon:
        return Sign("✓ holds", "good")
    return _OPEN


def legend(record: StepRecord) -> list[str]:
    """Returns what the signs mean that do not speak for themselves, of those that are shown."""
    said = (_meaning(case.claim, record.settings.epsilon) for case in record.cases)
    return list(dict.fromkeys(filter(None, said)))


def _meaning(claim: Claim, epsilon: float) -> str:
    sign = claim_sign(claim, epsilon)
    if sign is _NONE:
        return f"{sign.sign}: no q was claimed in the rounds that were made."
    if sign is not _OPEN:
        return ""
    known = f"{sign.sign}: nothing refutes the claim, and"
    if claim.bound is None:
        return f"{known} its TV is not bounded: rows are not independent, or there were too few."
    more = "more rounds would tell (a larger --tier)"
    return f"{known} the bound on its TV is above epsilon {epsilon:g}: {more}."


def _alone(record: StepRecord) -> list[Text]:
    if record.not_tested:
        return [Text(f"not tested: {clean(record.not_tested, _SENTENCE)}")]
    if record.alone is None:
        return []
    sentence = clean(record.alone.sentence, _SENTENCE)
    return [Text(f"{ALONE}: {record.alone.word}, {sentence}")]


def notes(record: StepRecord) -> list[str]:
    """Returns what limits the verdict: scope, faults that stay possible, what was not tested."""
    said = [INTERRUPTION] if record.exit_code == INTERRUPTED else []
    if record.verdict.outcome is Outcome.PASS and record.not_excluded is not None:
        unseen = ", ".join(sorted(record.not_excluded)) or "none"
        said.append(f"Catalogued faults that this run does not exclude: {unseen}.")
    return [*said, SCOPE, f"Not tested: {', '.join(NOT_TESTED)}."]
