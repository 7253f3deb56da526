"""What processing does to a row of probabilities, and rules that read processed rows.

Rows are [..., vocab]. Equal probabilities go to the lower id.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import numpy as np

from audit.exact.chain import RowSequence
from audit.exact.integers import narrowed, product, running_total
from audit.exact.paths import Step
from audit.exact.ratios import Ratios, Tokens, one_hot

Processing = Callable[[Ratios], Ratios]


def argmax(row: Ratios) -> Tokens:
    """Returns the most probable token [...] of each row."""
    return np.asarray(np.argmax(row.numerators, axis=-1))


def most_probable(row: Ratios) -> Ratios:
    """Returns the row that holds 1 at the most probable token."""
    return one_hot(argmax(row), row.numerators.shape[-1])


def cut_to_two(row: Ratios) -> Ratios:
    """Returns the row with all but its two most probable tokens set to 0, not normalised."""
    ranks = np.argsort(np.argsort(-row.numerators, axis=-1, kind="stable"), axis=-1)
    return Ratios(np.where(ranks < 2, row.numerators, 0), row.denominators)


def top_two(row: Ratios) -> Ratios:
    """Returns the law of the two most probable tokens."""
    return cut_to_two(row).normalised()


def squared(row: Ratios) -> Ratios:
    """Returns the row at half its temperature: each probability squared, then normalised."""
    return (row * row).normalised().reduced()


def without_last_id(row: Ratios) -> Ratios:
    """Returns the law of all tokens but the one with the last id."""
    return row.without(np.array([row.numerators.shape[-1] - 1])).normalised()


def in_eighths(row: Ratios) -> Ratios:
    """Returns every probability rounded to the nearest 1/8, ties to even, not normalised."""
    eighths, over = 8 * row.numerators.astype(object), row.denominators.astype(object)
    down = eighths // over
    beyond = 2 * (eighths - down * over) - over
    up = (beyond > 0) | ((beyond == 0) & (down % 2 == 1))
    return Ratios(narrowed(down + up), np.full((1, 1), 8))


def cumulated(row: Ratios) -> Ratios:
    """Returns the running sums of a row."""
    return Ratios(running_total(row.numerators), row.denominators)


def next_id(row: Ratios) -> Ratios:
    """Returns the row in which every token holds the probability of the next id."""
    return Ratios(np.roll(row.numerators, -1, axis=-1), row.denominators)


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
