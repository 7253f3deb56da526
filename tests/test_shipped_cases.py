"""Every shipped case keeps its promise.

Sources: the article's numbers; the instances SEED, G2, BLK, I1 and I2 of the design notes, typed
again here; certification from U = TV + sqrt(ln(1/delta') / (2 n)) (McDiarmid, 1989).
"""

import math
import re
from fractions import Fraction

import numpy as np
import pytest

from audit.casefile.reading import load_document, read_case
from audit.resources import cases_dir
from audit.row import Row
from audit.tree import Tree

FILES = sorted(cases_dir().glob("*.toml"))
CASES = {path.stem: read_case(path) for path in FILES}
SMALL = [case for case in CASES.values() if not case.large]
LARGE = [case for case in CASES.values() if case.large]
by_id = pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))

SEED_P, SEED_Q = "1/5 1/2 3/10", "1/2 3/10 1/5"
G2_P = (SEED_P, "1/2 1/4 1/4", "1/10 3/10 3/5", "2/5 2/5 1/5")
G2_Q = (SEED_Q, "1/4 1/4 1/2", "3/10 1/5 1/2", "1/5 3/5 1/5")
GOLDEN = {  # first row, then the rows after tokens 0, 1 and 2
    "prefix-dependent-2": (G2_P, G2_Q),
    "prefix-dependent-3": (G2_P, G2_Q),
    "identical": (G2_P, G2_P),
    "tree-two-levels": (G2_P, G2_Q),
    "tree-two-paths": (G2_P, G2_Q),
    "tree-fixed": (G2_P, G2_Q),
    "block-basis": (
        ("1/3 1/2 1/6", "1/2 1/3 1/6", "2/3 1/6 1/6", "1/2 1/6 1/3"),
        ("1/2 1/3 1/6", "1/3 0 2/3", "1/6 1/6 2/3", "1/3 1/3 1/3"),
    ),
    "basis-1": (
        ("2/5 1/10 1/2", "1 0 0", "1/2 1/10 2/5", "3/10 0 7/10"),
        ("1/5 0 4/5", "2/5 3/10 3/10", "1/5 1/10 7/10", "7/10 1/5 1/10"),
    ),
    "basis-2": (
        ("1/5 7/10 1/10", "3/5 0 2/5", "1/10 3/5 3/10", "3/10 3/5 1/10"),
        ("1/10 7/10 1/5", "0 4/5 1/5", "1/2 1/2 0", "0 2/5 3/5"),
    ),
}


def row(text):
    return Row.of(Fraction(number) for number in text.split())


def first_rows(name):
    return CASES[name].target[()], CASES[name].draft[()]


def acceptance(p, q):
    return sum(map(min, p, q))


def support(values):
    return {token for token, value in enumerate(values) if value}


def completed_law(case):
    """The target's probability of every block of gamma + 1 tokens that can occur."""
    law = {(): 1.0}
    for _ in range(case.num_speculative_tokens + 1):
        law = {
            (*prefix, token): mass * float(value)
            for prefix, mass in law.items()
            for token, value in enumerate(case.target[prefix])
            if value
        }
    return np.array(list(law.values()))


TREES = {
    "tree-basis": Tree((-1, -1), "independent"),
    "tree-basis-distinct": Tree((-1, -1), "distinct"),
    "tree-two-levels": Tree((-1, -1, 0, 0, 1, 1), "distinct"),
    "tree-two-paths": Tree((-1, -1, 0, 1), "independent"),
    "tree-fixed": Tree((-1, -1, 0), "fixed"),
}


def test_the_trees():
    assert {name: case.tree for name, case in CASES.items() if case.tree} == TREES
    for name in ("tree-basis", "tree-basis-distinct"):  # TR1
        assert first_rows(name) == (row("1/2 1/10 1/10 3/10"), row("2/5 3/10 1/5 1/10"))


def test_the_set():
    assert len(SMALL) >= 20
    assert [case.vocab_size for case in LARGE] == [1000, 128_256, 32_000]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_file_begins_with_its_reason_and_is_named_by_its_id(path):
    first = path.read_text().splitlines()[0]
    assert re.fullmatch(r"# \S.{30,}", first)
    assert load_document(path)["id"] == path.stem


@by_id
def test_the_reason_is_one_sentence(case):
    assert re.fullmatch(r"[A-Z][^.!?]*\.", case.why)
    assert len(case.why) <= 120


def test_reasons_and_laws_are_all_different():
    assert len({case.why for case in CASES.values()}) == len(CASES)
    assert len({case.hash for case in CASES.values()}) == len(CASES)


@by_id
def test_every_row_that_can_be_reached_is_a_law(case):
    longest = 0 if case.context_free else case.num_speculative_tokens
    for length in range(longest + 1):
        for prefix in case.prefixes(length):
            assert sum(case.target[prefix].numerators.tolist()) == case.target[prefix].denominator
            if length < case.num_speculative_tokens:
                law = case.draft[prefix]
                assert sum(law.numerators.tolist()) == law.denominator


@pytest.mark.parametrize("name", GOLDEN)
def test_golden_rows(name):
    for rows, texts in zip((CASES[name].target, CASES[name].draft), GOLDEN[name], strict=True):
        assert rows.extend == "rotate"
        for prefix, text in zip([(), (0,), (1,), (2,)], texts, strict=True):
            assert rows[prefix] == row(text)
    assert CASES[name].target[(1, 0)] == row(GOLDEN[name][0][1]).rotated(1)


@pytest.mark.parametrize(
    ("name", "p", "q", "gamma", "accepted"),
    [
        ("article-three-tokens", SEED_P, SEED_Q, 2, "7/10"),
        ("draft-zero", SEED_P, "3/5 2/5 0", 1, "3/5"),
        ("target-zero", "3/5 2/5 0", SEED_P, 1, "3/5"),
        ("disjoint", "0 1/3 2/3", "1 0 0", 2, "0"),
        ("same-argmax", "1/2 3/10 1/5", "9/10 1/20 1/20", 1, "3/5"),
        ("mirrored-two", "1/4 3/4", "3/4 1/4", 1, "1/2"),
        ("uniform-draft", SEED_P, "1/3 1/3 1/3", 1, "5/6"),
        ("uniform-target", "1/3 1/3 1/3", SEED_Q, 1, "5/6"),
        ("tiny-residual", SEED_P, "200001/1000000 499999/1000000 3/10", 1, "999999/1000000"),
    ],
)
def test_context_free_cases(name, p, q, gamma, accepted):
    assert CASES[name].context_free
    assert CASES[name].num_speculative_tokens == gamma
    assert first_rows(name) == (row(p), row(q))
    assert acceptance(row(p), row(q)) == Fraction(accepted)


def test_the_articles_numbers():
    p, q = first_rows("article-three-tokens")
    kept = [min(pair) for pair in zip(p, q, strict=True)]
    assert kept == [Fraction(1, 5), Fraction(3, 10), Fraction(1, 5)]
    fallback = [k + (1 - sum(kept)) * v for k, v in zip(kept, p, strict=True)]
    assert fallback == [Fraction(13, 50), Fraction(9, 20), Fraction(29, 100)]


def test_identical_models_are_identical_at_every_prefix():
    case = CASES["identical"]
    assert not case.context_free
    for length in range(case.num_speculative_tokens):
        assert all(case.target[prefix] == case.draft[prefix] for prefix in case.prefixes(length))


@pytest.mark.parametrize(
    ("name", "sides"),
    [
        ("one-hot-target", {"target"}),
        ("one-hot-draft", {"draft"}),
        ("one-hot-both", {"target", "draft"}),
        ("greedy-argmax", {"target"}),
    ],
)
def test_one_hot_cases_are_one_hot_on_that_side_only(name, sides):
    case = CASES[name]
    for side, rows in (("target", case.target), ("draft", case.draft)):
        sizes = {len(support(rows[prefix])) for n in (0, 1) for prefix in case.prefixes(n)}
        assert (sizes == {1}) is (side in sides)


def test_one_hot_rows_are_the_argmax_of_the_prefix_dependent_ones():
    sampled = CASES["prefix-dependent-2"]
    for prefix in [(), (0,), (1,), (2,)]:
        best = [rows[prefix].floats().argmax() for rows in (sampled.target, sampled.draft)]
        assert support(CASES["one-hot-target"].target[prefix]) == {best[0]}
        assert support(CASES["one-hot-draft"].draft[prefix]) == {best[1]}


def test_both_one_hot_agree_and_then_disagree():
    case = CASES["one-hot-both"]
    assert case.target[()] == case.draft[()] == row("0 1 0")
    assert acceptance(case.target[(1,)], case.draft[(1,)]) == 0


def test_sampling_rules_leave_different_supports_and_cut_nowhere_near_a_tie():
    case = CASES["sampling-rules"]
    assert case.sampling == "temperature 1/2, top_k 3, top_p 9/10, applied to the target and draft"
    # Squares of 1, 4, 3, 2 tenths; top-k 3 drops the 1; 25/29 is below 9/10, so the 4 stays.
    assert case.target[()] == Row.normalised([0, 16, 9, 4])
    # Squares of 12, 3, 4, 1 twentieths: 160/169 reaches 9/10, so the 9 goes.
    assert case.target[(0,)] == Row.normalised([144, 0, 16, 0])
    assert Fraction(1, 2) < acceptance(*first_rows("sampling-rules")) < Fraction(4, 5)


def test_greedy_argmax_is_judged_greedily_and_holds_a_tie():
    case = CASES["greedy-argmax"]
    assert case.greedy
    assert "temperature 0" in case.sampling
    given = case.target.given[(2,)]
    assert given[0] == given[1] == max(given)
    assert support(case.target[(2,)]) == {0}
    assert [case.id for case in CASES.values() if case.greedy] == ["greedy-argmax"]


def test_reversed_ranks_are_reversed_and_every_token_is_possible():
    p, q = first_rows("reversed-ranks")
    assert list(p) == sorted(set(p), reverse=True)
    assert list(q) == sorted(set(q))
    assert min(p) > 0
    assert len(p) == 16


def test_the_peaked_case_has_one_likely_token_and_a_thin_tail():
    p, q = first_rows("peaked-32")
    assert sorted(p)[-1] > Fraction(1, 2)
    assert sorted(p)[-2] < Fraction(1, 8)
    assert min(p) > 0
    assert 0 in list(q)
    assert Fraction(3, 5) < acceptance(p, q) < Fraction(4, 5)


@pytest.mark.parametrize("name", ["reversed-ranks", "peaked-32", "mirrored-two"])
def test_dyadic_rows_are_exact_in_bfloat16(name):
    """A bfloat16 holds 8 significant bits; the sum of the rounded row is then exactly 1."""
    for law in first_rows(name):
        assert law.denominator & (law.denominator - 1) == 0
        odd = [n // (n & -n) for n in law.numerators.tolist() if n]
        assert max(odd) < 2**8


@pytest.mark.parametrize("name", ["reversed-ranks", "peaked-32", "article-three-tokens"])
def test_the_full_target_fallback_shows_well(name):
    p, q = first_rows(name)
    rejected = 1 - acceptance(p, q)
    biased = [min(pair) + rejected * pair[0] for pair in zip(p, q, strict=True)]
    assert sum(abs(b - v) for b, v in zip(biased, p, strict=True)) / 2 >= Fraction(6, 100)


@pytest.mark.parametrize("case", LARGE, ids=lambda case: case.id)
def test_large_cases(case):
    assert case.context_free
    assert case.certify == "partition"
    assert case.num_speculative_tokens == 1
    p, q = case.target[()].floats(), case.draft[()].floats()
    assert 0.6 < np.minimum(p, q).sum() < 0.8
    assert p.min() > 0
    assert 0.04 < (q == 0).mean() < 0.08


@pytest.mark.parametrize("case", SMALL, ids=lambda case: case.id)
@pytest.mark.parametrize(
    ("trials", "look", "epsilon"),
    [(200_000, 10, 0.02), (2_000_000, 13, 0.005), (20_000_000, 16, 0.002)],
    ids=["ci", "audit", "deep"],
)
def test_full_cases_are_certifiable_at_the_cap_of_each_tier(case, trials, look, epsilon):
    """Expected U of a correct sampler plus three standard deviations of TV is below epsilon."""
    assert case.certify == "full"
    law = completed_law(case)
    spread = np.sqrt(law * (1 - law)).sum()
    delta = 1e-3 / (len(SMALL) * look * (look + 1))
    expected = spread / math.sqrt(2 * math.pi * trials)
    expected += math.sqrt(math.log(1 / delta) / (2 * trials))
    # TV has variance at most (1 - 2/pi) / (4 n) to first order, with independent cells.
    deviation = math.sqrt((1 - 2 / math.pi) / (4 * trials))
    assert expected + 3 * deviation < epsilon
