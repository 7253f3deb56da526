"""The verdict from the law of the code, alone and beside sampled rounds; records of both."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from audit.judgement.agreement import agreement
from audit.judgement.steered import (
    beside,
    disagreement,
    law_verdict,
    nearest_rules,
    rounded_up,
    statement,
)
from audit.steered import (
    Agreement,
    CodeEdge,
    CodeLaw,
    CodeReading,
    NotSteered,
    SteeredEvidence,
)
from audit.verdict import Budget, Outcome, Verdict

BUDGET = Budget(alpha=1e-6, delta=1e-3, epsilon=1e-3, cases=1)
EVIDENCE = SteeredEvidence(
    map=5.9e-8,
    generators=0.0,
    rows=690_000,
    mismatches=0,
    calls=7_000,
    broken_calls=0,
    delta=1e-3,
    tolerance=3e-6,
    mode="Batched",
    search_calls=200,
    search_rows=250_000,
    edges=(),
    readings=(CodeReading("rule ratio", "has the law of ratio", 1e-8),),
)
IMPOSSIBLE = CodeEdge("impossible token", (0,), (2,), "torch.rand = 0", 1e-4, "FAIL")


def outcome(evidence: SteeredEvidence | NotSteered, budget: Budget = BUDGET) -> Outcome:
    """Returns what the evidence leads to."""
    return law_verdict(evidence, budget).outcome


def test_a_pass_says_both_parts_and_compares_their_sum() -> None:
    # h = 1 - delta^(1/m) for no mismatch (Clopper and Pearson): 9.863e-4 for m = 7,000 calls,
    # 1.0011e-5 for 690,000 rows.
    assert pytest.approx(1 - 1e-3 ** (1 / 7_000)) == EVIDENCE.coupling
    assert pytest.approx(1 - 1e-3 ** (1 / 690_000)) == EVIDENCE.by_rows
    assert pytest.approx(5.9e-8 + EVIDENCE.coupling) == EVIDENCE.bound
    proof = "7,000 coupled calls; 1.1e-05 if their 690,000 rows are independent"
    assert statement(EVIDENCE) == f"TV <= 5.9e-08 (map) + 0.00099 ({proof})"
    assert law_verdict(EVIDENCE, BUDGET).sentence.startswith(statement(EVIDENCE))
    assert outcome(EVIDENCE) is Outcome.PASS
    assert outcome(EVIDENCE, replace(BUDGET, epsilon=9e-4)) is Outcome.INCONCLUSIVE


def test_calls_of_one_row_need_no_second_bound() -> None:
    single = replace(EVIDENCE, rows=7_000, mode="Single")
    assert statement(single) == "TV <= 5.9e-08 (map) + 0.00099 (7,000 coupled calls)"


def test_rows_of_few_calls_certify_nothing() -> None:
    # Something that 700,000 rows share through 70 calls may decide 9 % of all calls unseen.
    few = replace(EVIDENCE, calls=70)
    assert few.by_rows < 1.1e-5
    assert outcome(few) is Outcome.INCONCLUSIVE


def test_an_open_verdict_says_how_many_calls_are_needed() -> None:
    # -ln(delta) / (epsilon - map) = 6.9078 / (1e-3 - 5.9e-8), rounded up.
    few = law_verdict(replace(EVIDENCE, calls=1000), BUDGET)
    assert few.outcome is Outcome.INCONCLUSIVE
    assert "6,909 coupled calls are needed" in few.sentence
    enough = replace(EVIDENCE, calls=6_909)
    assert law_verdict(enough, BUDGET).outcome is Outcome.PASS
    never = replace(EVIDENCE, generators=0.01)
    assert "no number of coupled calls" in law_verdict(never, BUDGET).sentence


def test_parts_are_never_rounded_down() -> None:
    for value in (1.0e-5, 1.001e-5, 1.0999e-5, 0.0311, 0.99):
        assert float(rounded_up(value)) >= value


def test_the_generators_are_a_part_where_they_are_not_exact() -> None:
    found = replace(EVIDENCE, generators=2e-7)
    assert "2.0e-07 (generators)" in statement(found)
    assert found.bound > EVIDENCE.bound


def test_a_bias_is_failed_only_where_the_coupling_leaves_it() -> None:
    assert outcome(replace(EVIDENCE, map=0.01)) is Outcome.FAIL
    assert outcome(replace(EVIDENCE, map=5e-4, calls=20_000)) is Outcome.WITHIN
    few = replace(EVIDENCE, rows=1000)  # h at alpha is .0137
    assert few.least(0.01, 1e-6) == 0
    assert outcome(replace(few, map=0.01)) is Outcome.INCONCLUSIVE
    # A bias below the tolerance of the arithmetic is none.
    assert outcome(replace(EVIDENCE, map=2.9e-6)) is Outcome.PASS


def test_a_map_that_foretells_little_certifies_nothing() -> None:
    found = replace(EVIDENCE, mismatches=5_000, broken_calls=2_000)
    assert outcome(found) is Outcome.INCONCLUSIVE
    assert "2,000 not foretold" in law_verdict(found, BUDGET).sentence


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("impossible token", Outcome.FAIL),
        ("exception", Outcome.ERROR),
        ("out of range", Outcome.ERROR),
        ("no token", Outcome.ERROR),
        ("gap", Outcome.ERROR),
    ],
)
def test_an_edge_above_the_tolerance_decides_and_others_do_not(
    kind: str, expected: Outcome
) -> None:
    edge = replace(IMPOSSIBLE, kind=kind)  # type: ignore[arg-type]
    assert outcome(replace(EVIDENCE, edges=(edge,))) is expected
    for grade in ("note", "warning"):
        harmless = replace(edge, grade=grade)  # type: ignore[arg-type]
        assert outcome(replace(EVIDENCE, edges=(harmless,))) is Outcome.PASS


def test_an_impossible_token_is_not_softened_by_a_certificate() -> None:
    found = replace(EVIDENCE, map=1e-4, edges=(IMPOSSIBLE,))
    verdict = law_verdict(found, BUDGET)
    assert verdict.outcome is Outcome.FAIL
    assert "torch.rand = 0" in verdict.sentence


def test_a_declared_rule_must_be_followed() -> None:
    assert outcome(replace(EVIDENCE, to_declared=2e-8)) is Outcome.PASS
    found = law_verdict(replace(EVIDENCE, to_declared=0.2), BUDGET)
    assert found.outcome is Outcome.FAIL
    assert "declared rule" in found.sentence


def test_a_failure_names_the_faults_of_that_law() -> None:
    readings = tuple(
        CodeReading(f"rule {name}", "", 0.0) for name in ("ratio", "full-target-fallback")
    )
    found = law_verdict(replace(EVIDENCE, map=0.1, readings=readings), BUDGET)
    assert found.suspects == ("full-target-fallback",)


def test_rules_that_are_clearly_farther_are_not_named() -> None:
    sizes = {"ratio": 3e-4, "block": 0.1, "point-mass": 9e-4}
    readings = tuple(CodeReading(f"rule {name}", "", size) for name, size in sizes.items())
    near = nearest_rules(replace(EVIDENCE, readings=readings))
    assert [one.name for one in near] == ["rule ratio", "rule point-mass"]
    assert nearest_rules(replace(EVIDENCE, readings=())) == []


def test_what_cannot_be_read_off_is_undecided() -> None:
    verdict = law_verdict(NotSteered("it reads a clock"), BUDGET)
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert "it reads a clock" in verdict.sentence


@pytest.mark.parametrize(
    ("sampled", "law", "expected"),
    [
        (Outcome.PASS, Outcome.PASS, Outcome.PASS),
        (Outcome.PASS, Outcome.INCONCLUSIVE, Outcome.PASS),
        (Outcome.INCONCLUSIVE, Outcome.PASS, Outcome.PASS),
        (Outcome.PASS, Outcome.WITHIN, Outcome.WITHIN),
        (Outcome.PASS, Outcome.FAIL, Outcome.FAIL),
        (Outcome.FAIL, Outcome.PASS, Outcome.FAIL),
        (Outcome.DEPENDENT, Outcome.PASS, Outcome.DEPENDENT),
        (Outcome.NO_VERDICT, Outcome.PASS, Outcome.NO_VERDICT),
        (Outcome.INCONCLUSIVE, Outcome.ERROR, Outcome.ERROR),
    ],
)
def test_either_certifies_and_the_worse_counts(
    sampled: Outcome, law: Outcome, expected: Outcome
) -> None:
    found = beside(Verdict(sampled, "sampled so"), Verdict(law, "read so"))
    assert found.outcome is expected
    assert "sampled so" in found.sentence
    assert "read so" in found.sentence


def test_a_bias_that_both_show_is_said_once_with_both_its_sizes() -> None:
    law = law_verdict(replace(EVIDENCE, map=0.4), BUDGET)
    sampled = Verdict(Outcome.FAIL, "the emitted law is not the target's law: e-value 10^9")
    assert law.sentence.startswith("the law of the code is not the target's law: TV >= 0.4 (map)")
    both = beside(sampled, law)
    assert both.sentence.startswith(f"{sampled.sentence}; read off the code: TV >= 0.4 (map) - ")
    assert law.sentence in both.reasons
    alone = beside(Verdict(Outcome.INCONCLUSIVE, "few"), law)
    assert alone.sentence == f"{law.sentence}; sampled: few"


LAW = CodeLaw((), (), {"0": 0.2, "1": 0.5, "2": 0.3})


def compared(law: tuple[float, ...], n: int, seed: int, level: float) -> Agreement:
    """Returns the agreement of n rounds of a law with LAW."""
    counts = np.random.default_rng(seed).multinomial(n, law)
    outcomes = {(token,): int(times) for token, times in enumerate(counts)}
    return agreement(outcomes, LAW, EVIDENCE, level=level)


def test_rounds_of_the_law_itself_agree_with_it() -> None:
    # At level .01 each of 300 runs is accused with probability at most .01, and more than 30 of
    # them with one of at most 1e-20.
    runs = [compared((0.2, 0.5, 0.3), 200 + 40 * i, i, 0.01) for i in range(300)]
    assert sum(not one.agrees for one in runs) <= 30


def test_rounds_of_another_law_contradict_it() -> None:
    # .26 for .2 at 20,000 rounds: 19 standard deviations. The negative control of the test above.
    found = compared((0.26, 0.44, 0.3), 20_000, 1, 1e-6)
    assert not found.agrees
    assert found.expected == pytest.approx(4_000)
    sentence = disagreement(replace(EVIDENCE, agreement=found))
    assert "behaves differently when steered" in sentence
    assert disagreement(EVIDENCE) == ""
    assert disagreement(NotSteered("why")) == ""


def test_what_the_coupling_leaves_open_is_allowed() -> None:
    open_ = replace(EVIDENCE, mismatches=69_000)  # h is a tenth
    counts = {(0,): 26_000, (1,): 44_000, (2,): 30_000}
    assert agreement(counts, LAW, open_, level=1e-6).agrees
    assert not agreement(counts, LAW, EVIDENCE, level=1e-6).agrees
