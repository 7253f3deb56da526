"""What a run at the step level concludes: the verdict on what is emitted, and what is told beside.

A wrong claim alone fails nothing: a rule that ignores q needs none. Where the emitted law fails as
well it is the cause. Where the claim is right, and the verifying half does not fail on drafts of
another proposal and emits otherwise there, draft, coin and recovered token share random numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from audit.judgement.preservation import power_of_ten
from audit.judgement.proposals import ClaimedDistance
from audit.plural import counted
from audit.samplers.interface import Facts
from audit.stepping.apart import Apart
from audit.stepping.claims import MATCH, RATIO
from audit.stepping.record import StepCase
from audit.verdict import Outcome, Verdict

WRONG = "claimed q is not the law the drafts came from"
SHARED = (
    "draft, coin and recovered token share random numbers or other state: nothing refutes the "
    "claim, and on drafts of another proposal the verifying half does not fail and emits otherwise"
)
_FEWEST_REJECTIONS = 20


def concluded(verdict: Verdict, cases: Sequence[StepCase], apart: Apart) -> Verdict:
    """Returns the verdict on the emitted law, after a FAIL with its cause in front."""
    verdict = replace(verdict, level="step")
    if verdict.outcome is not Outcome.FAIL:
        return verdict
    cause = wrong_claim(cases)
    if not cause and apart.log_e is not None:
        cause = f"{SHARED} (e-value {power_of_ten(apart.log_e)})"
    if not cause:
        return verdict
    faults = (_worst(cases).claim.fault,) if wrong_claim(cases) else ()
    return replace(
        verdict,
        sentence=f"{cause}; {verdict.sentence}",
        reasons=(cause, *verdict.reasons),
        suspects=tuple(filter(None, faults)) or verdict.suspects,
    )


def wrong_claim(cases: Sequence[StepCase]) -> str:
    """Returns the sentence on a wrong claim, by the case that shows it best; "" without one."""
    if not any(case.claim.wrong for case in cases):
        return ""
    case = _worst(cases)
    claim = case.claim
    shown = claim.wrong if claim.unnormalised or claim.worst is None else _size(claim.worst)
    claimed = f"{claim.claimed}{', not normalised' if claim.unnormalised else ''}"
    return f"{WRONG}: drafted is {claim.drawn}, claimed {claimed} ({case.id}: {shown})"


def _worst(cases: Sequence[StepCase]) -> StepCase:
    """Returns the wrong claim about most positions, of these the one of the largest size."""
    wrong = [case for case in cases if case.claim.wrong]
    return max(wrong, key=lambda case: (case.num_speculative_tokens, _estimate(case)))


def _estimate(case: StepCase) -> float:
    return 0.0 if case.claim.worst is None else case.claim.worst.estimate


def _size(distance: ClaimedDistance) -> str:
    bounds = f"between {distance.lower:.3g} and {distance.upper:.3g}"
    return f"TV {distance.estimate:.3g} by {distance.lens}, {bounds}"


def told(verdict: Verdict, cases: Sequence[StepCase], facts: Facts) -> Iterator[str]:
    """Yields what fails nothing but should be known."""
    rounds = sum(case.rounds for case in cases)
    unclaimed = sum(case.claim.unclaimed for case in cases)
    if verdict.outcome is not Outcome.FAIL and (sentence := wrong_claim(cases)):
        yield sentence + (_all_the_same(cases) if verdict.outcome is Outcome.PASS else "")
    if unclaimed:
        yield (
            f"no q is claimed in {unclaimed:,} of {counted(rounds, 'round')}: there, only a rule "
            "that ignores q preserves the target"
        )
    if changed := rule_changed(cases, facts):
        yield changed
    rejections = sum(case.rejections for case in cases)
    if rounds and rejections < _FEWEST_REJECTIONS:
        yield (
            f"{rejections} of {counted(rounds, 'round')} rejected a draft: next to nothing is "
            "known of the token drawn after a rejection"
        )


def _all_the_same(cases: Sequence[StepCase]) -> str:
    """Returns what it means that rounds with a wrong claim pass."""
    if _ignores_q(cases):
        return "; what is emitted does not rest on it"
    return "; what is emitted stays within epsilon on these cases all the same"


def rule_changed(cases: Sequence[StepCase], facts: Facts) -> str:
    """Returns that drafts are kept as if q were unknown where the ratio rule was expected.

    That is what declared rules, and else a claimed q, let expect. "" where it is not so.
    """
    expected = RATIO in facts.declares if facts.declares else _claims_something(cases)
    if not expected or not _ignores_q(cases):
        return ""
    shown = max(cases, key=lambda case: case.first_draft.by_ratio - case.first_draft.by_match)
    first = shown.first_draft
    return (
        f"rule changed: drafts are kept as by {MATCH}, which ignore q ({shown.id}: the first draft "
        f"is kept in {first.observed:.3g} of the rounds, {first.by_match:.3g} expected so, "
        f"{first.by_ratio:.3g} by the ratio rule)"
    )


def _ignores_q(cases: Sequence[StepCase]) -> bool:
    """Whether first drafts are kept as by a rule that ignores q, and not as by the ratio rule."""
    seen = [case.first_draft.fits for case in cases if case.rounds]
    by_match, by_ratio = (all(name in fits for fits in seen) for name in (MATCH, RATIO))
    return bool(seen) and by_match and not by_ratio


def _claims_something(cases: Sequence[StepCase]) -> bool:
    return any(case.claim.distances for case in cases)
