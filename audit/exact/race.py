"""The exact law of an exponential race whose noise has already decided another race.

With noise E_i, independent and of rate 1, argmin E_i / q_i is a draw from q. Where x won that race
at time t, which has rate 1, E_x is q_x t and every other E_j is q_j t plus fresh noise. If the same
noise then draws from p, token j starts to run at t a_j with a_j = q_j / p_j, and x is through at
t a_x. With G(u) = sum over k != x of p_k max(u - a_k, 0), once t is integrated out,

    P(x) = 1 / (1 + G(a_x)),  P(j) = p_j * integral from a_j to a_x of du / (1 + G(u))^2.

G is linear between the a_k, so that every piece from l to h is (h - l) / ((1 + G(l)) (1 + G(h))):
the law is rational. Where p_x = 0, x never arrives and the integral has no end.

Reference: Daliri, Musco, Suresh (2024) for the probability that both draws agree.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate

from audit.exact.ratios import Ratios, Tokens, whole
from audit.exact.rowwise import row_by_row

Values = Sequence[Fraction]


def second_race(q: Ratios, p: Ratios, winner: Tokens) -> Ratios:
    """Returns the law [rows, vocab] of the draw from p by the noise that drew `winner` from q.

    Rows of p without mass give rows of zeros.
    """
    return row_by_row(lambda q, p, won: _law(q, p, int(won[0])), q, p, whole(winner[:, None]))


def _law(q: Values, p: Values, x: int) -> list[Fraction]:
    starts = {j: q[j] / rate for j, rate in enumerate(p) if rate and j != x}
    end = q[x] / p[x] if p[x] else None
    running = sorted((j for j in starts if end is None or starts[j] < end), key=starts.__getitem__)
    pieces, height, speed = [], Fraction(1), Fraction(0)
    for j, until in zip(running, [*(starts[k] for k in running[1:]), end], strict=False):
        speed += p[j]
        if until is None:
            pieces.append(1 / (speed * height))
        else:
            before, height = height, height + speed * (until - starts[j])
            pieces.append((until - starts[j]) / (before * height))
    law = [Fraction(0)] * len(p)
    for j, integral in zip(reversed(running), accumulate(reversed(pieces)), strict=True):
        law[j] = p[j] * integral
    if end is not None:
        law[x] = 1 / height
    return law
