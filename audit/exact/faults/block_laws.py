"""What goes wrong in a block whose every position alone would be right, as ingredients and laws."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace

from audit.exact.chain import Branch, RowSequence, residual, target_over_draft
from audit.exact.paths import Rounds, Step
from audit.exact.ratios import Ratios, minimum, one_hot, quotient, whole
from audit.exact.rules import RATIO


def first_target(step: Step) -> Step:
    """Returns the step with the target row of the first position."""
    return replace(step, p=step.first_p)


def later_target(step: Step) -> Step:
    """Returns the step with the target row after the drafted token."""
    return replace(step, p=step.later_p)


def first_draft(step: Step) -> Step:
    """Returns the step with the draft row of the first position."""
    return replace(step, q=step.first_q)


def later_draft(step: Step) -> Step:
    """Returns the step with the next draft row, the last one at the end."""
    return replace(step, q=step.later_q)


def frozen_drafts(rounds: Rounds) -> RowSequence:
    """Returns the first draft row for every position."""
    return [rounds.draft[0]] * rounds.gamma


def last_draft_row(target: RowSequence, draft: RowSequence) -> Ratios:
    """Returns the last draft row, the only one at hand when a bonus token is drawn from q."""
    return draft[-1]


def earlier_target_row(target: RowSequence, draft: RowSequence) -> Ratios:
    """Returns the target row before the last drafted token."""
    return target[-2]


def first_target_row(target: RowSequence, draft: RowSequence) -> Ratios:
    """Returns the target row of the first position."""
    return target[0]


def no_bonus(target: RowSequence, draft: RowSequence) -> None:
    """Returns None: the round ends after the draft block."""


def any_accepted(accepts: Sequence[Ratios]) -> list[Ratios]:
    """Returns P(at least i tokens accepted, wherever they stand) for i = 0..gamma."""
    reach = [whole([1]), *[whole([0])] * len(accepts)]
    for accept in accepts:
        steps = itertools.pairwise(reach)
        reach[1:] = [(a * accept + b * accept.complement()).reduced() for a, b in steps]
    return reach


def plain_ratio(step: Step) -> Ratios:
    """Returns p(x) / q(x), not cut to 1."""
    return quotient(step.px, step.qx)


def cumulative_tests(ratios: Sequence[Ratios]) -> list[Ratios]:
    """Returns P(first i tokens accepted) where test i takes the product of the ratios up to i."""
    reach, running = [whole([1])], whole([1])
    for ratio in ratios:
        running = (running * ratio).reduced()
        reach.append((reach[-1] * minimum(running, whole([1]))).reduced())
    return reach


def first_test_decides(accepts: Sequence[Ratios]) -> list[Ratios]:
    """Returns P(first i tokens accepted) where only the first one is tested."""
    return [whole([1]), *[accepts[0]] * len(accepts)]


def continues_after_rejection(rounds: Rounds) -> list[Branch]:
    """Returns the ways a round can end when a rejection does not stop it.

    Every position emits its drafted token or, on rejection, a draw from its residual; then the
    bonus token follows in any case. Each pattern of accepted and rejected tokens is one branch.
    """
    patterns = itertools.product((True, False), repeat=rounds.gamma)
    return [_pattern(rounds, pattern) for pattern in patterns]


def _pattern(rounds: Rounds, accepted: tuple[bool, ...]) -> Branch:
    chance, rows = whole([1]), []
    for step, passed in zip(rounds.steps, accepted, strict=True):
        accept = target_over_draft(step)
        chance = chance * (accept if passed else accept.complement())
        drafted = one_hot(step.token, rounds.vocab_size)
        rows.append(drafted if passed else residual(step).normalised())
    kept = (*accepted, False).index(False)
    return Branch(kept, chance, (*rows[kept:], rounds.target[-1]), late=sum(accepted[kept:]))


def bonus_after_rejection(rounds: Rounds) -> list[Branch]:
    """Returns the ends of the ratio rule, a bonus token added after every recovered one."""
    *rejected, accepted = RATIO(rounds)
    bonus = rounds.target[-1]
    return [*(replace(end, rows=(*end.rows, bonus), seen=None) for end in rejected), accepted]


def rejected_token_kept(rounds: Rounds) -> list[Branch]:
    """Returns the ends of the ratio rule, the rejected token left in front of its replacement."""
    *rejected, accepted = RATIO(rounds)
    return [*(replace(end, kept=end.kept + 1, shift=1) for end in rejected), accepted]


def last_accepted_dropped(rounds: Rounds) -> list[Branch]:
    """Returns the ends of the ratio rule without the last of their accepted tokens."""
    nothing, *accepted = RATIO(rounds)
    return [nothing, *(replace(end, kept=end.kept - 1, shift=-1) for end in accepted)]


def correction_missing(rounds: Rounds) -> list[Branch]:
    """Returns the ends of the ratio rule without a recovered token."""
    *rejected, accepted = RATIO(rounds)
    return [*(replace(end, rows=()) for end in rejected), accepted]
