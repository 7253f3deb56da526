"""Linear equations in fractions: solutions, free variables, contradictions."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from audit.exact.elimination import CONSTANT, Form, solved

SMALL = st.integers(-3, 3).map(Fraction)
ROWS = st.lists(st.lists(SMALL, min_size=4, max_size=4), min_size=1, max_size=6)


def value(form: Form, at: dict[int, Fraction]) -> Fraction:
    """Returns the value of a form."""
    known: dict[object, Fraction] = {CONSTANT: Fraction(1), **at}
    return sum((factor * known[name] for name, factor in form.items()), start=Fraction(0))


@given(ROWS, st.lists(SMALL, min_size=4, max_size=4))
def test_equations_that_have_a_solution_are_solved(
    rows: list[list[Fraction]], solution: list[Fraction]
) -> None:
    equations: list[Form] = []
    for coefficients in rows:
        form: Form = dict(enumerate(coefficients))
        equations.append({**form, CONSTANT: -value(form, dict(enumerate(solution)))})
    found = solved(equations, dict.fromkeys(range(4), Fraction(1, 7)))
    assert all(value(equation, found) == 0 for equation in equations)


def test_what_no_equation_fixes_stays_as_guessed() -> None:
    equation: Form = {"x": Fraction(1), "y": Fraction(1), CONSTANT: Fraction(-3)}
    guesses = {"x": Fraction(5), "y": Fraction(1, 2), "z": Fraction(1, 3)}
    found = solved([equation], guesses)
    assert found["x"] + found["y"] == 3
    assert found["z"] == Fraction(1, 3)


def test_a_contradiction_is_left_out() -> None:
    one, two = ({"x": Fraction(1), CONSTANT: Fraction(-n)} for n in (1, 2))
    assert solved([one, two], {"x": Fraction(0)}) == {"x": 1}
