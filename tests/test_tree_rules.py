"""Every rule for draft trees in torch against its exact law, and what they promise beside it.

Each law check rejects a true law with probability below 1e-9 (exact binomial tails, Bonferroni
over the outcomes), and there are fewer than 1000 of them: 1e-6 for the file.
"""

from __future__ import annotations

from collections import Counter
from functools import cache

import pytest
import torch
from exact_instances import g2, i1
from steps import follows
from tree_instances import DRAFTINGS, EARLY_LEAF, TWO_LEVELS, TWO_PATHS, drafted_as, siblings, tr1
from tree_steps import tree_batch

from audit.case import Case
from audit.counts import Outcome
from audit.exact.catalogue import RULES as CATALOGUE
from audit.exact.catalogue import rule, rules_for
from audit.exact.engine import block_law, rounds_of_case
from audit.exact.tables import joint_table
from audit.samplers.interface import Sampler, TreeBatch
from audit.samplers.rules import SAMPLERS
from audit.samplers.trees import FAULTS, PARAMETRIC, RULES
from audit.samplers.trees.target_only import target_only
from audit.samplers.trees.walk import Siblings

FALSE_ALARM = 1e-9
TRIALS, MANY = 12_000, 100_000
TREES = {id_: entry for id_, entry in CATALOGUE.items() if entry.trees}
PAIRS = [(id_, drafting) for id_, entry in TREES.items() for drafting in entry.trees]
every_rule = pytest.mark.parametrize(("rule_id", "drafting"), PAIRS)
# TR1; a leaf beside a node with a child; two paths.
INSTANCES = {
    drafting: (
        tr1(drafting),
        drafted_as(g2(2), EARLY_LEAF, drafting),
        drafted_as(g2(2), TWO_PATHS, drafting),
    )
    for drafting in DRAFTINGS
}


def generator(number: int) -> torch.Generator:
    return torch.Generator().manual_seed(number)


def emitted(
    case: Case, sampler: Sampler, trials: int = TRIALS, dtype: torch.dtype = torch.float64
) -> Counter[Outcome]:
    """Returns how often each pair of drafted tokens and emitted block occurs, () for no block."""
    batch = tree_batch(case, trials, generator(1), dtype)
    tokens = sampler(batch, generator(2))
    pairs, base = torch.cat([batch.draft_token_ids, tokens], 1), case.vocab_size + 1
    powers = base ** torch.arange(pairs.shape[1])
    codes, numbers = ((pairs + 1) * powers).sum(1).unique(return_counts=True)
    counts = Counter[Outcome]()
    for code, number in zip(codes.tolist(), numbers.tolist(), strict=True):
        row = [code // power % base - 1 for power in powers.tolist()]
        counts[tuple(t for t in row if t >= 0) if row[case.drafted] >= 0 else ()] += number
    return counts


@cache
def joint_law(case: Case, rule_id: str) -> dict[Outcome, float]:
    """Returns the exact law of the drafted tokens and the emitted block."""
    paths = rounds_of_case(case).tokens.tolist()
    undefined = float(block_law(case, rule_id).undefined)
    law: dict[Outcome, float] = {(): undefined} if undefined else {}
    for length, table in enumerate(joint_table(case, rule_id), 1):
        blocks = list(case.prefixes(length))
        for path, code in zip(*table.nonzero(), strict=True):
            law[(*paths[path], *blocks[code])] = float(table[path, code])
    return law


def fits(case: Case, seen: Counter[Outcome], rule_id: str) -> bool:
    return follows(seen, joint_law(case, rule_id), FALSE_ALARM)


def test_the_ids_are_those_of_the_exact_catalogue():
    assert set(TREES) == set(SAMPLERS) & {*RULES, *FAULTS, *PARAMETRIC}
    assert set(RULES) == {id_ for id_, entry in TREES.items() if entry.lossless}
    assert set(PARAMETRIC) == {id_ for id_, entry in TREES.items() if entry.parameter}
    assert all(SAMPLERS[id_] is sampler for id_, sampler in {**RULES, **FAULTS}.items())


@every_rule
@pytest.mark.parametrize("number", [0, 1, 2])
def test_a_rule_follows_its_exact_law(rule_id, drafting, number):
    case = INSTANCES[drafting][number]
    assert fits(case, emitted(case, SAMPLERS[rule_id]), rule_id)


@pytest.mark.parametrize("rule_id", ["traversal", "recursive-rejection-distinct"])
def test_two_levels_of_two_siblings(rule_id):
    case = drafted_as(g2(2), TWO_LEVELS, "distinct")
    assert fits(case, emitted(case, SAMPLERS[rule_id]), rule_id)


@every_rule
def test_float32_tensors_change_nothing_that_can_be_seen(rule_id, drafting):
    case = INSTANCES[drafting][1]
    assert fits(case, emitted(case, SAMPLERS[rule_id], dtype=torch.float32), rule_id)


@pytest.mark.parametrize(
    ("rule_id", "value"),
    [
        ("k-seq", "3/2"),
        ("k-seq-rho-too-small", "5/4"),
        ("tree-threshold-acc", "1/2"),
        ("tree-threshold-single", "3/10"),
    ],
)
def test_other_constants_follow_their_law(rule_id, value):
    case = INSTANCES[TREES[rule_id].trees[0]][1]
    moved = rule(f"{rule_id}@{value}")
    seen = emitted(case, PARAMETRIC[rule_id](float(moved.parameter.value)))
    assert fits(case, seen, f"{rule_id}@{value}")
    assert not fits(case, seen, rule_id)


# test_tree_laws: on TR1 and on two paths together, every two laws differ by 1/75 or are one.
ONE_LAW = {"target-only", "tree-sampler-match"}


@every_rule
def test_the_check_tells_every_pair_of_laws_apart(rule_id, drafting):
    one_level, _, paths = INSTANCES[drafting]
    sizes = ((one_level, MANY), (paths, TRIALS))
    seen = [(case, emitted(case, SAMPLERS[rule_id], trials)) for case, trials in sizes]
    listed = rules_for(one_level)
    passed = {other for other in listed if all(fits(*pair, other) for pair in seen)}
    assert passed == (ONE_LAW & set(listed) if rule_id in ONE_LAW else {rule_id})


@every_rule
def test_degenerate_rows_keep_to_the_law(rule_id, drafting):
    rows = [
        ("1/5 1/2 3/10", "1/5 1/2 3/10"),
        ("0 0 1/3 2/3", "1/2 1/2 0 0"),
        ("0 1 0", "1/2 3/10 1/5"),
    ]
    for target, draft in rows:
        case = siblings(target, draft, drafting=drafting)
        seen, law = emitted(case, SAMPLERS[rule_id]), joint_law(case, rule_id)
        assert set(seen) <= set(law)
        assert follows(seen, law, FALSE_ALARM)


@every_rule
def test_results_do_not_depend_on_how_rows_are_cut_into_calls(rule_id, drafting):
    batch = tree_batch(drafted_as(i1(), TWO_PATHS, drafting), 60, generator(1))
    whole, parts = generator(5), generator(5)
    cuts = [slice(0, 1), slice(1, 8), slice(8, 60)]
    pieces = [SAMPLERS[rule_id](rows_of(batch, cut), parts) for cut in cuts]
    assert torch.equal(SAMPLERS[rule_id](batch, whole), torch.cat(pieces))


def rows_of(batch: TreeBatch, rows: slice) -> TreeBatch:
    return TreeBatch(
        batch.draft_token_ids[rows],
        batch.parents,
        batch.draft_probs[rows],
        batch.target_probs[rows],
    )


@every_rule
def test_views_are_as_good_as_tensors_and_stay_unwritten(rule_id, drafting):
    case = drafted_as(tr1(drafting), TWO_PATHS, drafting)
    batch = tree_batch(case, 50, generator(1))
    views = batch._replace(
        draft_probs=batch.draft_probs[:1, :1].expand(50, 4, 4),
        target_probs=batch.target_probs[:1, :1].expand(50, 5, 4),
    )
    before = [tensor.clone() for tensor in batch]
    a, b = (SAMPLERS[rule_id](given, generator(4)) for given in (batch, views))
    assert torch.equal(a, b)
    assert all(map(torch.equal, batch, before))


def test_siblings_with_all_the_target_mass_are_never_passed_by():
    # Thirds in float32 do not sum to 1; a coin beyond their sum would leave nothing to draw from.
    p = torch.tensor([[1 / 3, 2 / 3 - 1e-7, 0.0]], dtype=torch.float32).double()
    coins = torch.full((1, 2), 1 - 2.0**-53, dtype=torch.float64)
    n, _ = target_only(Siblings(p, p, torch.tensor([[0, 1]]), coins))
    assert p.sum() < 1
    assert n.tolist() == [1]
