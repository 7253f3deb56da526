"""The exact law of an exponential race whose noise has already decided another race.

With noise E_i, independent and of rate 1, argmin E_i / q_i is a draw from q. Where x won that
race at time t, E_j is q_j t plus fresh noise for every other j, and t has rate 1. If the same noise
then draws from r, and r_x = 0, token j starts to run at t a_j with a_j = q_j / r_j, and wins with

    P(j) = r_j * integral from a_j of du / (1 + G(u))^2,  G(u) = sum_k r_k max(u - a_k, 0),

once t is integrated out. G is linear between the a_k, so that every piece from l to h is
(h - l) / ((1 + G(l)) (1 + G(h))): the law is rational, and the same for every x.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np

from audit.exact.ratios import Ratios, stacked
from audit.row import Row


def second_race(q: Ratios, r: Ratios) -> Ratios:
    """Returns the law [rows, vocab] of the draw from r; 0 where r has no mass."""
    size = q.numerators.shape[-1]
    drafts, residuals = (_rows(given.fractions(), size) for given in (q, r))
    known: dict[tuple[tuple[Fraction, ...], ...], Row] = {}
    for pair in zip(drafts, residuals, strict=True):
        if pair not in known:
            known[pair] = _row(*pair)
    return stacked([known[pair] for pair in zip(drafts, residuals, strict=True)])


def _rows(values: list[Fraction], size: int) -> list[tuple[Fraction, ...]]:
    return [tuple(values[i : i + size]) for i in range(0, len(values), size)]


def _row(q: tuple[Fraction, ...], r: tuple[Fraction, ...]) -> Row:
    starts = {j: q[j] / rate for j, rate in enumerate(r) if rate}
    if not starts:
        return Row(np.zeros(len(q), dtype=np.int64), 1)
    later = _integrals(sorted(starts, key=starts.__getitem__), starts, r)
    return Row.of(rate * later.get(j, Fraction(0)) for j, rate in enumerate(r))


def _integrals(
    order: list[int], starts: dict[int, Fraction], r: tuple[Fraction, ...]
) -> dict[int, Fraction]:
    """Returns the integral of 1 / (1 + G)^2 from the start of every token on."""
    speed, height, heights = Fraction(0), Fraction(1), [Fraction(1)]
    for j, following in pairwise(order):
        speed += r[j]
        height += speed * (starts[following] - starts[j])
        heights.append(height)
    integral = 1 / height  # beyond the last start every token runs, at speed 1
    found = {order[-1]: integral}
    for i in reversed(range(len(order) - 1)):
        j, following = order[i], order[i + 1]
        integral += (starts[following] - starts[j]) / (heights[i] * heights[i + 1])
        found[j] = integral
    return found
