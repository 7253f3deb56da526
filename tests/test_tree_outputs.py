"""Engines' forms of a verified tree, by hand, and a sampler that answers in each of them."""

import pytest
import torch

from audit.errors import SamplerError
from audit.run import run_audit
from audit.samplers.tree_outputs import from_accept_index, from_best_path, from_padded
from audit.samplers.trees import RULES
from audit.settings import Settings
from audit.tree import ROOT, Tree
from audit.verdict import Outcome


def ints(*values):
    return torch.tensor(values)


def test_sglangs_triple():
    # Two rows of a root and three nodes: the first row accepts node 2, the second one nothing.
    predict = ints(5, 0, 7, 0, 4, 0, 0, 0)
    tokens = from_accept_index(predict, ints([0, 2, -1], [4, -1, -1]).int(), ints(1, 0))
    assert tokens.dtype == torch.int64
    assert tokens.tolist() == [[5, 7, -1], [4, -1, -1]]


def test_eagles_path():
    # Row 0 keeps one token of its second path, row 1 both of its first, row 2 none.
    paths = ints([[9, 1, 2], [9, 3, 0]], [[8, 4, 5], [8, 6, 7]], [[9, 1, 2], [9, 3, 0]])
    tokens = from_best_path(paths, best=ints(1, 0, 1), accepted=ints(1, 2, 0), last=ints(7, 7, 7))
    assert tokens.tolist() == [[3, 7, -1], [4, 5, 7], [7, -1, -1]]


def test_a_tail_that_means_nothing():
    assert from_padded(ints([4, 9], [4, 9]), ints(1, 2)).tolist() == [[4, -1], [4, 9]]


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: from_accept_index(ints(1, 2), ints([0, 2]), ints(1)), "holds 2, but must lie in"),
        (lambda: from_accept_index(ints(1, 2), ints([0, 1]), ints(0)), "disagree"),
        (lambda: from_accept_index(ints(1, 2), ints([-1, -1]), ints(0)), "disagree"),
        (
            lambda: from_accept_index(ints([1, 2]), ints([0, 1]), ints(1)),
            "predict has shape [1, 2]",
        ),
        (lambda: from_accept_index(ints(1, 2), ints(0, 1), ints(1)), "it must be [1, any]"),
        (lambda: from_accept_index(ints(1.0), ints([0]), ints(0)), "it must hold integers"),
        (lambda: from_best_path(ints([[9, 1]]), ints(1), ints(0), ints(3)), "best holds 1"),
        (lambda: from_best_path(ints([[9, 1]]), ints(0), ints(2), ints(3)), "accepted holds 2"),
        (lambda: from_best_path(ints([9, 1]), ints(0), ints(0), ints(3)), "must be [1, any, any]"),
        (lambda: from_padded(ints([4, 9]), ints(0)), "lengths holds 0, but must lie in 1..2"),
        (lambda: from_padded(ints([4, 9]), ints(1, 1)), "tokens has shape [1, 2]"),
    ],
)
def test_what_cannot_be_read_has_one_sentence(call, said):
    with pytest.raises(SamplerError) as error:
        call()
    assert said in str(error.value)
    assert "\n" not in str(error.value)


def sglang(batch, generator, *, count_root=0):
    """Target-only verification that answers as SGLang's kernel does: the node tokens are flat."""
    tree = Tree(tuple(batch.parents.tolist()), "fixed")
    emitted = RULES["target-only"](batch, generator)
    rows, slots = len(emitted), tree.nodes + 1
    predict = torch.zeros(rows, slots, dtype=torch.int32)
    places = torch.full((rows, tree.depth + 1), -1, dtype=torch.int32)
    for row in range(rows):
        node = ROOT
        for position, token in enumerate(t for t in emitted[row].tolist() if t >= 0):
            predict[row, node + 1], places[row, position] = token, row * slots + node + 1
            drafted = batch.draft_token_ids[row]
            node = next((c for c in tree.children(node) if drafted[c] == token), node)
    count = (places >= 0).sum(1) - 1
    return from_accept_index(predict.flatten(), places, count + count_root)


sglang.draftproof = {"declares": ["target-only"], "trees": ["fixed"]}


def test_a_sampler_that_answers_as_sglang_passes():
    # False alarm at most 1e-6 (alpha); the control is the same code with the root counted.
    settings = Settings(tier="smoke", epsilon=0.2)
    done = run_audit(sglang, settings=settings)
    assert done.verdict.outcome is Outcome.PASS
    assert list(done.verdicts) == ["tree-fixed"]

    def wrong(batch, generator):
        return sglang(batch, generator, count_root=1)

    wrong.draftproof = sglang.draftproof
    failed = run_audit(wrong, settings=settings)
    assert failed.verdict.outcome is Outcome.ERROR
    assert "accept_index and accept_count disagree" in failed.verdict.sentence
