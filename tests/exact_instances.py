"""The instances of the algorithm page (sections 1 to 3), under its names."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from audit.case import Case, Extend, Rows
from audit.exact.catalogue import RULES
from audit.row import Row

CHAINS = {id_: entry for id_, entry in RULES.items() if not entry.trees}
Given = Mapping[tuple[int, ...], str]


def row(text: str) -> Row:
    """Returns the row of space-separated fractions."""
    return Row.of(Fraction(word) for word in text.split())


def case(gamma: int, target: Given, draft: Given, extend: Extend = "rotate") -> Case:
    """Returns the case of these rows."""
    p, q = ({prefix: row(text) for prefix, text in given.items()} for given in (target, draft))
    return Case("test", "", len(p[()]), gamma, Rows(p, extend), Rows(q, extend))


def context_free(gamma: int, target: str, draft: str) -> Case:
    """Returns the case in which no row depends on the prefix."""
    return case(gamma, {(): target}, {(): draft}, "repeat")


def by_last_token(gamma: int, target: list[str], draft: list[str]) -> Case:
    """Returns the case of the first row and the rows after each token, rotated further on."""
    prefixes: list[tuple[int, ...]] = [(), (0,), (1,), (2,)]
    rows = (dict(zip(prefixes, texts, strict=True)) for texts in (target, draft))
    return case(gamma, *rows)


G2_TARGET = ["1/5 1/2 3/10", "1/2 1/4 1/4", "1/10 3/10 3/5", "2/5 2/5 1/5"]
G2_DRAFT = ["1/2 3/10 1/5", "1/4 1/4 1/2", "3/10 1/5 1/2", "1/5 3/5 1/5"]


def argmax_row(given: Row) -> Row:
    """Returns the row with everything on its most probable token, the lowest id in a tie."""
    values = list(given)
    return Row.normalised(int(i == values.index(max(values))) for i in range(len(values)))


def seed(gamma: int) -> Case:
    """SEED: the article's three tokens at every position."""
    return context_free(gamma, G2_TARGET[0], G2_DRAFT[0])


def g2(gamma: int) -> Case:
    """G2: rows that depend on the last two tokens."""
    return by_last_token(gamma, G2_TARGET, G2_DRAFT)


def g2_argmax(*, target: bool, draft: bool) -> Case:
    """G2 with 2 drafted tokens and one-hot rows for the target, the draft, or both."""
    case = g2(2)
    p, q = (
        Rows(rows.given, "rotate", argmax_row) if one_hot else rows
        for rows, one_hot in ((case.target, target), (case.draft, draft))
    )
    return Case("test", "", 3, 2, p, q)


def toy(gamma: int) -> Case:
    """TOY: the two tokens of the block verification paper."""
    return context_free(gamma, "1/3 2/3", "2/3 1/3")


def i1() -> Case:
    """I1, first of the two basis instances."""
    return by_last_token(
        2,
        ["2/5 1/10 1/2", "1 0 0", "1/2 1/10 2/5", "3/10 0 7/10"],
        ["1/5 0 4/5", "2/5 3/10 3/10", "1/5 1/10 7/10", "7/10 1/5 1/10"],
    )


def i2() -> Case:
    """I2, second of the two basis instances."""
    return by_last_token(
        2,
        ["1/5 7/10 1/10", "3/5 0 2/5", "1/10 3/5 3/10", "3/10 3/5 1/10"],
        ["1/10 7/10 1/5", "0 4/5 1/5", "1/2 1/2 0", "0 2/5 3/5"],
    )


def blk() -> Case:
    """BLK, the instance on which every wrong block rule shows."""
    return by_last_token(
        2,
        ["1/3 1/2 1/6", "1/2 1/3 1/6", "2/3 1/6 1/6", "1/2 1/6 1/3"],
        ["1/2 1/3 1/6", "1/3 0 2/3", "1/6 1/6 2/3", "1/3 1/3 1/3"],
    )
