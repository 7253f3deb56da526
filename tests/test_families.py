"""Entries with a constant, at other constants: exact laws, torch functions, bounds.

Each law check rejects a true law with probability below 5e-9 (exact binomial tails, Bonferroni over
the outcomes), and there are fewer than 200 of them: 1e-6 for the file.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
import torch
from exact_instances import CHAINS, g2, i1, i2, row, seed
from steps import follows, outcomes, step_batch

from audit.case import Case
from audit.errors import UsageError
from audit.exact.catalogue import RULES, rule
from audit.exact.engine import block_law, completed_law
from audit.exact.ratios import of_row
from audit.exact.rowwise import rounded_to, tempered, top, without_last_ids
from audit.samplers.faults import PARAMETRIC
from audit.samplers.rules import SAMPLERS, sampler_of

FALSE_ALARM = 5e-9
TRIALS = 12_000
# Two constants of every family, whose laws differ from the listed one's on these instances.
VALUES = {
    "epsilon-residual": ("1/100", "1/3"),
    "residual-of-top-2": ("1", "3"),
    "epsilon-in-ratio": ("1/1000", "1"),
    "vocabulary-shift": ("2", "3"),
    "coarse-coin": ("1", "5"),
    "rejection-below-threshold-accepted": ("1/10", "4/5"),
    "tiny-rejection-full-target": ("1/10", "4/5"),
    "draft-temperature-mismatch": ("3/4", "3"),
    "draft-top-2-not-recorded": ("1", "3"),
    "draft-top-2-only-recorded": ("1", "3"),
    "target-top-2-in-test": ("1", "3"),
    "target-top-2-in-residual": ("1", "3"),
    "target-temperature-in-test": ("1/8", "2"),
    "target-temperature-in-residual": ("1/3", "5/4"),
    "target-temperature-wrong": ("2/3", "4"),
    "bonus-temperature-wrong": ("1/5", "2"),
    "target-cut-to-draft-vocabulary": ("2", "3"),
    "rounded-rows": ("1/5", "1/1000"),
    "lenience": ("1/5", "9/10"),
    "lenience-in-residual": ("1/5", "9/10"),
    "synthetic-acceptance": ("0", "1/4"),
    "synthetic-acceptance-full-target": ("1/4", "1"),
    "target-threshold": ("1/10", "1/2"),
    "typical-acceptance": ("1/2", "9/10"),
    "typical-acceptance-argmax": ("1/4", "9/10"),
    "target-only-threshold-acc": ("1/2", "1"),
    "target-only-threshold-single": ("1/5", "7/10"),
    "cascade-mixture": ("1/5", "9/10"),
    "cascade-own-tokens": ("0", "1/3"),
    "mentored": ("6/5", "3"),
}
CONSTANTS = [f"{id_}@{value}" for id_, values in VALUES.items() for value in values]
INSTANCES = (g2(2), i1(), i2())


@cache
def law(case: Case, rule_id: str) -> dict[tuple[int, ...], float]:
    return {outcome: float(mass) for outcome, mass in block_law(case, rule_id).items()}


def seen(case: Case, rule_id: str):  # type: ignore[no-untyped-def]
    """Returns the outcomes of the torch function."""
    batch = step_batch(case, TRIALS, torch.Generator().manual_seed(11), torch.float32)
    return outcomes(sampler_of(rule_id)(batch, torch.Generator().manual_seed(12)))


def instances(rule_id: str) -> tuple[Case, ...]:
    """Returns the cases to judge on: free of context where the function drafts for itself."""
    drafts_itself = rule_id.startswith("draft-top-2-not-recorded")
    return (seed(2),) if drafts_itself else INSTANCES


def test_every_family_of_chains_is_listed_here() -> None:
    families = {id_ for id_, entry in RULES.items() if entry.parameter is not None}
    assert families == PARAMETRIC.keys()
    assert families & CHAINS.keys() == VALUES.keys()


@pytest.mark.parametrize("rule_id", CONSTANTS)
def test_the_torch_function_follows_the_exact_law_at_other_constants(rule_id: str) -> None:
    for case in instances(rule_id):
        assert follows(seen(case, rule_id), law(case, rule_id), FALSE_ALARM)


# The control: at these constants the same check must refuse the law of the listed one.
@pytest.mark.parametrize("rule_id", CONSTANTS)
def test_another_constant_does_not_follow_the_listed_law(rule_id: str) -> None:
    listed = rule_id.partition("@")[0]
    fitting = [follows(seen(c, rule_id), law(c, listed), FALSE_ALARM) for c in instances(rule_id)]
    assert not all(fitting)


@pytest.mark.parametrize("rule_id", VALUES)
def test_the_listed_entry_is_its_family_at_the_listed_constant(rule_id: str) -> None:
    entry = RULES[rule_id]
    assert entry.parameter is not None
    moved = entry.at(entry.parameter.value)
    for case in INSTANCES:
        assert block_law(case, moved) == block_law(case, rule_id)
    assert moved.id == f"{rule_id}@{entry.parameter.value}"
    assert replace(moved, law=entry.law, meaning=entry.meaning, id=rule_id) == entry
    assert type(sampler_of(moved.id)) is type(SAMPLERS[rule_id])


# The constant at which a family does nothing wrong.
HARMLESS = [
    ("epsilon-residual@0", "ratio"),
    ("epsilon-in-ratio@0", "ratio"),
    ("vocabulary-shift@3", "ratio"),
    ("rejection-below-threshold-accepted@0", "ratio"),
    ("tiny-rejection-full-target@0", "ratio"),
    ("tiny-rejection-full-target@1", "full-target-fallback"),
    ("rejection-below-threshold-accepted@1", "always-accept"),
    ("lenience@1", "ratio"),
    ("lenience-in-residual@1", "ratio"),
    ("synthetic-acceptance@0", "never-accept"),
    ("synthetic-acceptance@1", "always-accept"),
    ("synthetic-acceptance-full-target@0", "never-accept-full-target"),
    ("target-only-threshold-acc@1", "point-mass"),
    ("target-only-threshold-single@1", "point-mass"),
    ("mentored@1", "ratio"),
    ("cascade-mixture@1", "ratio"),
    ("cascade-mixture@0", "always-accept"),
    ("rounded-rows@1/10", "ratio"),  # every row of these instances is one of tenths
    *((f"{id_}@64", "ratio") for id_ in VALUES if "top-2" in id_),
    *((f"{id_}@1", "ratio") for id_ in VALUES if "temperature" in id_),
]


@pytest.mark.parametrize(("rule_id", "same"), HARMLESS, ids=[pair[0] for pair in HARMLESS])
def test_a_family_ends_in_another_rule(rule_id: str, same: str) -> None:
    for case in (i1(), i2(), seed(2)):
        assert block_law(case, rule_id) == block_law(case, same)


@pytest.mark.parametrize("rule_id", VALUES)
def test_both_bounds_have_laws(rule_id: str) -> None:
    known = RULES[rule_id].parameter
    assert known is not None
    assert known.low <= known.value <= known.high
    for value in (known.low, known.high):
        assert sum(completed_law(i2(), f"{rule_id}@{value}").values()) == 1


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        ("lenience@2", r"its constant \(lenience\) must be a number from 1/100 to 1"),
        ("lenience@0", "from 1/100 to 1"),
        ("coarse-coin@3/2", "must be a whole number from 1 to 16777216"),
        ("residual-of-top-2@0", "a whole number from 1 to 64"),
        ("full-target-fallback@1/2", "it has no constant"),
        ("lenience@much", "Invalid literal"),
        ("lenience@1/0", "lenience@1/0"),
        ("leniense@1/2", 'called "leniense"'),
    ],
)
def test_a_constant_out_of_bounds_is_refused(wanted: str, said: str) -> None:
    for refuse in (rule, sampler_of):
        with pytest.raises(UsageError, match=said):
            refuse(wanted)


def test_a_moved_entry_says_so() -> None:
    moved = rule("lenience@0.3")
    assert moved.id == "lenience@3/10"
    assert moved.meaning.endswith("; here with lenience 3/10")


# SEED at temperature 1/2 and 1/3: p^2 and p^3, normalised.
def test_a_whole_inverse_temperature_is_exact() -> None:
    p = of_row(row("1/5 1/2 3/10"))
    assert tempered(Fraction(1, 2))(p).fractions() == [Fraction(n, 38) for n in (4, 25, 9)]
    assert tempered(Fraction(1, 3))(p).fractions() == [Fraction(n, 160) for n in (8, 125, 27)]


def test_other_temperatures_round_each_power_once() -> None:
    # Roots of squares are exact, and numpy rounds other roots correctly (IEEE 754).
    squares = tempered(Fraction(2))(of_row(row("1/4 1/16 9/16 1/8"))).fractions()
    root = Fraction(np.sqrt(1 / 8))
    total = Fraction(3, 2) + root
    assert squares == [
        Fraction(1, 2) / total,
        Fraction(1, 4) / total,
        Fraction(3, 4) / total,
        root / total,
    ]
    assert tempered(Fraction(2))(of_row(row("0 1"))).fractions() == [0, 1]


def test_processing_at_its_ends() -> None:
    p = of_row(row("1/5 1/2 3/10"))
    assert top(Fraction(1))(p).fractions() == [0, 1, 0]
    assert top(Fraction(7))(p).fractions() == p.fractions()
    assert without_last_ids(Fraction(2))(p).fractions() == [1, 0, 0]
    assert without_last_ids(Fraction(3))(p).fractions() == [0, 0, 0]
    # 1/5 is 1/2 step of 2/5, 1/2 is 5/4, 3/10 is 3/4: ties go to even.
    assert rounded_to(Fraction(2, 5))(p).fractions() == [0, Fraction(2, 5), Fraction(2, 5)]
