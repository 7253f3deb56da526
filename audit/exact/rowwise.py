"""What processing does to a row of probabilities, and rules that read processed rows.

Rows are [..., vocab]. Equal probabilities go to the lower id. Processings that have a constant are
made from it.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from dataclasses import replace
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal
from fractions import Fraction
from functools import reduce

import numpy as np

from audit.exact.chain import RowSequence
from audit.exact.integers import narrowed, product, running_total
from audit.exact.paths import Step
from audit.exact.ratios import Ratios, Tokens, one_hot, stacked
from audit.row import Row

Processing = Callable[[Ratios], Ratios]
# An exponent range so wide that no probability leaves it.
WIDE = Context(prec=50, Emax=MAX_EMAX, Emin=MIN_EMIN)


def argmax(row: Ratios) -> Tokens:
    """Returns the most probable token [...] of each row."""
    return np.asarray(np.argmax(row.numerators, axis=-1))


def most_probable(row: Ratios) -> Ratios:
    """Returns the row that holds 1 at the most probable token."""
    return one_hot(argmax(row), row.numerators.shape[-1])


def cut_to(row: Ratios, k: Fraction) -> Ratios:
    """Returns the row with all but its k most probable tokens set to 0, not normalised."""
    ranks = np.argsort(np.argsort(-row.numerators, axis=-1, kind="stable"), axis=-1)
    return Ratios(np.where(ranks < int(k), row.numerators, 0), row.denominators)


def top(k: Fraction) -> Processing:
    """Returns the processing that leaves the law of the k most probable tokens."""
    return lambda row: cut_to(row, k).normalised()


def tempered(temperature: Fraction) -> Processing:
    """Returns the processing that sets the temperature: p ** (1 / T), normalised.

    Where 1 / T is no whole number the powers are irrational: each is rounded to the nearest
    double, which is taken as an exact fraction from there on.
    """
    power = 1 / temperature
    if power.denominator == 1:
        return lambda row: reduce(operator.mul, [row] * int(power)).normalised().reduced()
    return lambda row: row_by_row(lambda values: _powers(values, power), row).normalised().reduced()


def _powers(values: Iterable[Fraction], power: Fraction) -> list[Fraction]:
    exponent = decimal_of(power)
    return [Fraction(float(WIDE.power(decimal_of(v), exponent))) if v else v for v in values]


def decimal_of(value: Fraction) -> Decimal:
    """Returns the value rounded to 50 digits."""
    return WIDE.divide(Decimal(value.numerator), Decimal(value.denominator))


def without_last_ids(count: Fraction) -> Processing:
    """Returns the processing that leaves the law of all tokens but the `count` last ids."""

    def cut(row: Ratios) -> Ratios:
        size = row.numerators.shape[-1]
        keep = np.arange(size) < size - int(count)
        return Ratios(np.where(keep, row.numerators, 0), row.denominators).normalised()

    return cut


def rounded_to(step: Fraction) -> Processing:
    """Returns the processing that rounds to multiples of `step`, ties to even, not normalised."""

    def rounded(row: Ratios) -> Ratios:
        steps = row.numerators.astype(object) * step.denominator
        over = row.denominators.astype(object) * step.numerator
        down = steps // over
        beyond = 2 * (steps - down * over) - over
        up = (beyond > 0) | ((beyond == 0) & (down % 2 == 1))
        return Ratios(narrowed((down + up) * step.numerator), np.full((1, 1), step.denominator))

    return rounded


def cumulated(row: Ratios) -> Ratios:
    """Returns the running sums of a row."""
    return Ratios(running_total(row.numerators), row.denominators)


def id_ahead(offset: Fraction) -> Processing:
    """Returns the processing that gives every token the probability of the id `offset` on."""
    return lambda row: Ratios(np.roll(row.numerators, -int(offset), axis=-1), row.denominators)


def target_as(processing: Processing) -> Callable[[Step], Step]:
    """Returns the reading of a step in which the target row was processed."""
    return lambda step: replace(step, p=processing(step.p))


def draft_as(processing: Processing) -> Callable[[Step], Step]:
    """Returns the reading of a step in which the draft row was processed."""
    return lambda step: replace(step, q=processing(step.q))


def both_as(processing: Processing) -> Callable[[Step], Step]:
    """Returns the reading of a step in which both rows were processed."""
    return lambda step: replace(step, p=processing(step.p), q=processing(step.q))


def bonus_as(processing: Processing) -> Callable[[RowSequence, RowSequence], Ratios]:
    """Returns the choice of a bonus row that was processed."""
    return lambda target, draft: processing(target[-1])


def rejection_below(step: Step, bound: Fraction) -> Tokens:
    """Returns which rows reject with a probability below the bound, [rows]."""
    mass = (step.p - step.q).positive().total()
    limit = product(mass.denominators, np.array([bound.numerator]))
    return np.asarray(product(mass.numerators, np.array([bound.denominator])) < limit)


def row_by_row(make: Callable[..., Iterable[Fraction]], *given: Ratios) -> Ratios:
    """Returns the rows [rows, vocab] that `make` gives for rows of fractions.

    It is for what has no formula in whole arrays; equal rows are made once.
    """
    keys = list(zip(*(_keys(part) for part in given), strict=True))
    made = {key: Row.of(make(*map(_fractions, key))) for key in dict.fromkeys(keys)}
    return stacked([made[key] for key in keys])


_Key = tuple[tuple[int, ...], int]


def _keys(rows: Ratios) -> list[_Key]:
    over = np.broadcast_to(rows.denominators, (len(rows.numerators), 1)).ravel().tolist()
    return list(zip(map(tuple, rows.numerators.tolist()), over, strict=True))


def _fractions(key: _Key) -> tuple[Fraction, ...]:
    numerators, denominator = key
    return tuple(Fraction(numerator, denominator) for numerator in numerators)
