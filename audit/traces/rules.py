"""What a declared rule says of one round, given what was drafted: how many are accepted, what next.

Where a row lists the likeliest tokens only, probabilities of single tokens are bounded, and so is
what follows from them.

References: Leviathan et al. (2023), Algorithm 1, for `ratio`; Sun et al. (2025) for `block`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from audit.tracefile.rounds import Round
from audit.tracefile.rows import Array, Row
from audit.traces.tokens import beside_target

Bounds = tuple[float, float]


def ratio_test(p: Row, q: Row, token: int) -> Bounds:
    """Returns min(1, p / q) of a drafted token."""
    (p_low, p_high), (q_low, q_high) = p.between(token), q.between(token)
    low = min(1.0, p_low / q_high) if q_high > 0 else 0.0
    high = min(1.0, p_high / q_low) if q_low > 0 else float(p_high > 0)
    return low, high


def target_test(p: Row, q: Row | None, token: int) -> Bounds:
    """Returns p of a drafted token."""
    return p.between(token)


TESTS: Mapping[str, Callable[..., Bounds]] = {
    "ratio": ratio_test,
    "sampler-match": target_test,
    "point-mass": target_test,
}
RULES = (*TESTS, "block")
NEEDS_DRAFT_ROWS = ("ratio", "block")


def known(rule: str, one: Round) -> bool:
    """Returns whether the round holds the rows that the rule is compared with."""
    if rule == "block":
        rows = (*one.target, *one.drafting)
        whole = len(one.target) == one.gamma + 1 and len(one.drafting) == one.gamma
        return whole and all(row.ids is None for row in rows)
    return rule not in NEEDS_DRAFT_ROWS or len(one.drafting) == one.gamma


def accept_bounds(rule: str, one: Round, tests: int) -> Array:
    """Returns bounds on the acceptance probability of the first drafted tokens, [tests, 2].

    For the rules that test tokens one after another, which are all but `block`.
    """
    drafting = one.drafting or (None,) * one.gamma
    steps = zip(one.target[:tests], drafting, one.draft.tolist(), strict=False)
    return np.array([TESTS[rule](*step) for step in steps], dtype=np.float64).reshape(-1, 2)


def last_weights(rule: str, one: Round, accepted: int) -> Array | None:
    """Returns the weights of the token after a rejection, [cells], None where they are not known.

    Their sum is about the probability of that rejection.
    """
    p, token = one.target[accepted], int(one.draft[accepted])
    if rule not in NEEDS_DRAFT_ROWS:
        if p.ids is not None and token not in p.ids:
            return None  # the rest holds an unknown part of the rejected token
        weights = p.probs.copy()
        weights[p.cell(token)] = 0.0
        return weights
    if p.ids is not None or one.drafting[accepted].ids is not None:
        return None
    q = beside_target(one.drafting[accepted], p)[0]
    scale = _scales(one)[accepted] if rule == "block" else 1.0
    return np.asarray(np.maximum(scale * p.probs - q, 0))


def never_recovered(rule: str, one: Round, accepted: int, token: int) -> bool:
    """Returns whether the rule cannot draw `token` after a rejection, whatever a row leaves out."""
    weights = last_weights(rule, one, accepted)
    if weights is not None:
        return bool(weights[one.target[accepted].cell(token)] <= 0)
    if rule not in NEEDS_DRAFT_ROWS:
        return token == int(one.draft[accepted])
    (_, p_high), (q_low, _) = (
        row.between(token) for row in (one.target[accepted], one.drafting[accepted])
    )
    return p_high <= q_low


def _scales(one: Round) -> Array:
    """Returns P_0, ..., P_gamma: P_i = min(1, P_(i-1) p / q)."""
    scales = [1.0]
    for p, q, token in zip(one.target, one.drafting, one.draft.tolist(), strict=False):
        (above, _), (below, _) = p.between(token), q.between(token)
        scales.append(min(1.0, scales[-1] * above / below) if below > 0 else 0.0)
    return np.array(scales)


def block_law(one: Round) -> Array:
    """Returns the law of the number that `block` accepts, [gamma + 1], from whole rows.

    It is the longest prefix that passes, each with its own coin.
    """
    scales, heights = _scales(one), np.ones(one.gamma + 1)
    for i in range(1, one.gamma):
        excess = scales[i] * one.target[i].probs - beside_target(one.drafting[i], one.target[i])[0]
        mass = float(np.maximum(excess, 0).sum())
        short = 1 - scales[i]
        heights[i] = mass / (mass + short) if mass + short > 0 else 1.0
    heights[-1] = scales[-1] if one.gamma else 1.0
    longer_fail = np.append(np.cumprod((1 - heights)[:0:-1])[::-1], 1.0)
    return np.asarray(heights * longer_fail)
