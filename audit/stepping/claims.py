"""From what was watched of the proposals of a case to plain values."""

from __future__ import annotations

import math
from collections.abc import Mapping

from audit.evidence import GateReading
from audit.harness.proposals import Accepting
from audit.judgement.proposal_readings import Ground, what_was_claimed, what_was_drawn
from audit.judgement.proposals import ProposalWatch
from audit.stepping.record import Claim, FirstDraft

RATIO, MATCH = "ratio", "point-mass or sampler-match"
MODEL = "row"  # the kind of what is drawn or claimed where it is the draft model's row as it stands
_FAULTS: Mapping[tuple[str, str], str] = {
    ("argmax", MODEL): "argmax-draft",
    ("top-2", MODEL): "draft-top-2-not-recorded",
    (MODEL, "top-2"): "draft-top-2-only-recorded",
    (MODEL, "temperature"): "draft-temperature-mismatch",
    ("frozen", MODEL): "drafting-context-frozen",
    (MODEL, "frozen"): "draft-record-frozen",
}
_DEVIATIONS = 6.0  # standard ones, within which an acceptance fits a rule


def claim_of(watch: ProposalWatch, *, independent: bool = True) -> tuple[Claim, bool]:
    """Returns what a case shows of the claim, and whether its drafts come from the draft model.

    independent: whether its rows are; where they are not, nothing is bounded.
    """
    seen, tally, ground = watch.seen, watch.tally, Ground.of(watch.case)
    drawn = what_was_drawn(ground, seen.everything_drawn)
    rows = (tally.first.cpu().numpy(), tally.varies.cpu().numpy(), float(tally.along))
    claimed = what_was_claimed(ground, seen.claimed, *rows)
    distances = watch.distances()
    gate = GateReading(
        log_e=watch.log_e, log_e_max=watch.log_e_max, log_threshold=watch.log_threshold
    )
    wrong = watch.wrong(independent=independent)
    claim = Claim(
        wrong=wrong,
        distances=tuple(distances),
        bound=watch.upper if independent and distances else None,
        gate=gate,
        impossible=watch.impossible(),
        unnormalised=seen.unnormalised,
        furthest=seen.furthest,
        rounds=seen.rounds,
        unclaimed=int(seen.unclaimed[0].sum()),
        drawn=drawn.words if seen.rounds else "nothing",
        claimed=claimed.words,
        fault=_FAULTS.get((drawn.kind, claimed.kind), "") if wrong else "",
    )
    return claim, drawn.kind == MODEL


def first_draft_of(accepting: Accepting, rounds: int) -> FirstDraft:
    """Returns how often the first draft was kept, beside what two rules expect."""
    n = max(rounds, 1)
    sides = (
        (RATIO, accepting.by_ratio, accepting.ratio_spread),
        (MATCH, accepting.by_match, accepting.match_spread),
    )
    fits = (
        name
        for name, expected, spread in sides
        if abs(accepting.kept - expected) <= _DEVIATIONS * (math.sqrt(spread) + 1)
    )
    return FirstDraft(
        observed=accepting.kept / n,
        by_ratio=accepting.by_ratio / n,
        by_match=accepting.by_match / n,
        fits=tuple(fits),
    )
