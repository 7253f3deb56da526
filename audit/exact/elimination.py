"""Linear equations solved exactly, in fractions.

An affine form maps variables to coefficients, and CONSTANT to its constant; an equation says that
a form is 0.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from fractions import Fraction
from typing import TypeVar

CONSTANT = None
Form = dict[Hashable, Fraction]
Variable = TypeVar("Variable", bound=Hashable)


def solved(
    equations: Iterable[Form], guesses: Mapping[Variable, Fraction]
) -> dict[Variable, Fraction]:
    """Returns a value for each guessed variable: those that the equations fix, else the guess.

    The equations are taken in turn, those of few terms first; one that contradicts those before
    it is left out.

    >>> x_plus_y, x_less_y = {"x": 1, "y": 1, CONSTANT: -3}, {"x": 1, "y": -1, CONSTANT: -1}
    >>> found = solved([x_plus_y, x_less_y], {"x": Fraction(0), "y": Fraction(0)})
    >>> int(found["x"]), int(found["y"])
    (2, 1)
    """
    rules: dict[Hashable, Form] = {}  # variable = form of variables without a rule
    for equation in sorted(equations, key=len):
        form = _without(equation, rules)
        variable = next((key for key in form if key is not CONSTANT), CONSTANT)
        if variable is not CONSTANT:
            _add_rule(rules, variable, form)
    values: Form = {CONSTANT: Fraction(1)}
    for name, guess in guesses.items():
        values[name] = guess
    return {name: _value(rules.get(name, {name: Fraction(1)}), values) for name in guesses}


def _add_rule(rules: dict[Hashable, Form], variable: Hashable, form: Form) -> None:
    scale = -form.pop(variable)
    new = {key: value / scale for key, value in form.items()}
    for old, rule in rules.items():
        if variable in rule:
            rules[old] = _without(rule, {variable: new})
    rules[variable] = new


def _without(form: Form, rules: Mapping[Hashable, Form]) -> Form:
    """Returns the form with every variable that has a rule replaced by it."""
    found: Form = {}
    for key, value in form.items():
        for name, factor in rules.get(key, {key: Fraction(1)}).items():
            found[name] = found.get(name, Fraction(0)) + value * factor
    return {key: value for key, value in found.items() if value}


def _value(form: Form, values: Form) -> Fraction:
    return sum((factor * values[name] for name, factor in form.items()), start=Fraction(0))
