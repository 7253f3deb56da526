"""Cases: how a prefix that is not given gets its row, and what decides the hash."""

from dataclasses import replace
from fractions import Fraction

import pytest

from audit.case import Case, Rows
from audit.errors import CaseError
from audit.row import Row

A, B, C = Row.normalised([1, 2, 3]), Row.normalised([3, 2, 1]), Row.normalised([1, 5, 1])


def make(target, draft, *, gamma=1):
    return Case("x", "Why.", 3, gamma, target=target, draft=draft)


def test_a_given_row_wins_over_every_extension():
    for extend in ("none", "repeat", "rotate"):
        rows = Rows({(): A, (1,): B, (0, 1): C}, extend)
        assert rows[()] == A
        assert rows[(0, 1)] == C


def test_none_refuses_what_is_not_given_and_says_how_to_go_on():
    with pytest.raises(CaseError, match=r"no row for prefix \[2\].*add the row"):
        Rows({(): A, (1,): B}, "none")[(2,)]


def test_repeat_takes_the_longest_given_suffix():
    rows = Rows({(): A, (1,): B, (0, 1): C}, "repeat")
    assert rows[(2, 0, 1)] == C
    assert rows[(2, 2, 1)] == B
    assert rows[(2, 2, 2)] == A


def test_rotate_turns_the_row_of_the_last_token_by_the_one_before():
    # algorithms.md, G2: row after (.., a, b) is rotate_a of the row given b.
    rows = Rows({(): A, (0,): A, (1,): B, (2,): C}, "rotate")
    assert list(rows[(1, 2)]) == [Fraction(5, 7), Fraction(1, 7), Fraction(1, 7)]
    assert rows[(0, 1, 2)] == rows[(1, 2)] == C.rotated(1)
    assert rows[(0, 2)] == C


def test_rotate_needs_the_row_of_the_last_token():
    with pytest.raises(CaseError):
        Rows({(): A, (0,): A}, "rotate")[(0, 1)]


def test_the_rule_applies_after_the_extension():
    rows = Rows({(): A, (0,): A, (1,): B}, "rotate", rule=lambda row: row.rotated(1))
    assert rows[(1,)] == B.rotated(1)
    assert rows[(2, 1)] == B.rotated(2).rotated(1)


def test_context_free_means_one_repeated_row():
    assert Rows({(): A}).context_free
    assert not Rows({(): A, (0,): A}).context_free
    assert not Rows({(): A}, "none").context_free
    assert make(Rows({(): A}), Rows({(): B})).context_free
    assert not make(Rows({(): A}, "none"), Rows({(): B})).context_free


def test_prefixes_come_in_the_order_of_their_codes():
    case = make(Rows({(): A}), Rows({(): B}))
    assert list(case.prefixes(0)) == [()]
    assert list(case.prefixes(2))[:4] == [(0, 0), (0, 1), (0, 2), (1, 0)]


def test_the_hash_follows_rows_and_sizes_and_not_the_words():
    case = make(Rows({(): A}), Rows({(): B}))
    assert replace(case, id="y", why="Other.", source="z").hash == case.hash
    assert make(Rows({(): B}), Rows({(): A})).hash != case.hash
    assert make(Rows({(): A}), Rows({(): B}), gamma=2).hash != case.hash
    ruled = Rows({(): A}, rule=lambda row: row.rotated(1))
    assert make(ruled, Rows({(): B})).hash != case.hash


def test_the_hash_does_not_ask_for_rows_that_are_not_there():
    dependent = make(Rows({(): A, (0,): B}, "none"), Rows({(): C}, "none"))
    assert len(dependent.hash) == 64
    other = make(Rows({(): A, (1,): B}, "none"), Rows({(): C}, "none"))
    assert other.hash != dependent.hash
