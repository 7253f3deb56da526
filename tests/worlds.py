"""Small cases that several tests share, built by hand from the article's and G2's rows."""

from __future__ import annotations

from fractions import Fraction

from audit.case import Case, Rows
from audit.row import Row


def row(*values: str) -> Row:
    """Returns the row of these fractions."""
    return Row.of(Fraction(value) for value in values)


def case_of(target: Rows, draft: Rows, *, gamma: int, name: str = "world", **more: object) -> Case:
    """Returns a case over these rows."""
    size = len(next(iter(target.given.values())))
    return Case(name, "A test world.", size, gamma, target, draft, **more)  # type: ignore[arg-type]


def article(gamma: int = 2) -> Case:
    """p = (.2, .5, .3), q = (.5, .3, .2) at every prefix."""
    target, draft = row("1/5", "1/2", "3/10"), row("1/2", "3/10", "1/5")
    return case_of(Rows({(): target}), Rows({(): draft}), gamma=gamma, name="article")


def prefix_dependent(gamma: int = 2) -> Case:
    """The prefix-dependent world G2: rows depend on the last two tokens by rotation."""
    target = {
        (): row("1/5", "1/2", "3/10"),
        (0,): row("1/2", "1/4", "1/4"),
        (1,): row("1/10", "3/10", "3/5"),
        (2,): row("2/5", "2/5", "1/5"),
    }
    draft = {
        (): row("1/2", "3/10", "1/5"),
        (0,): row("1/4", "1/4", "1/2"),
        (1,): row("3/10", "1/5", "1/2"),
        (2,): row("1/5", "3/5", "1/5"),
    }
    return case_of(
        Rows(target, extend="rotate"), Rows(draft, extend="rotate"), gamma=gamma, name="g2"
    )


def identical(gamma: int = 2) -> Case:
    """p = q = (.2, .5, .3): no rejection, no residual."""
    same = Rows({(): row("1/5", "1/2", "3/10")})
    return case_of(same, same, gamma=gamma, name="identical")


def one_hot_target(gamma: int = 1) -> Case:
    """p = (0, 1, 0), q = (.5, .3, .2): any other token is bias."""
    target, draft = row("0", "1", "0"), row("1/2", "3/10", "1/5")
    return case_of(Rows({(): target}), Rows({(): draft}), gamma=gamma, name="one-hot-target")
