"""Draft trees on their way to a worker process and back."""

from __future__ import annotations

import pytest
import torch
from tree_instances import EARLY_LEAF, drafted_as
from tree_steps import tree_batch

from audit.errors import SamplerError
from audit.samplers.contract import check_output
from audit.samplers.registry import load_sampler
from tests.worlds import prefix_dependent

BODY = """
import torch
def verify(batch, generator):
    rows = len(batch.draft_token_ids)
    assert type(batch).__name__ == "TreeBatch" and batch.parents.tolist() == [-1, -1, 0]
    assert batch.target_probs.shape == (rows, 4, 3) and batch.draft_probs.shape == (rows, 3, 3)
    if rows == 2: batch.parents[2] = 99
    if rows == 3: return batch.draft_token_ids, torch.full((rows,), 2)
    return torch.zeros(rows, 4 if rows == 1 else 3, dtype=torch.int64)
verify.draftproof = {"trees": ["distinct"], "declares": ["recursive-rejection-distinct"]}
"""


def test_a_tree_batch_arrives_and_tokens_of_its_depth_come_back(tmp_path):
    (tmp_path / "sample.py").write_text(BODY)
    sampler = load_sampler(f"{tmp_path}/sample.py:verify")
    case, made = drafted_as(prefix_dependent(2), EARLY_LEAF, "distinct"), torch.Generator()
    assert sampler.facts.trees == ("distinct",)
    for rows, said in (
        (1, "returned shape [1, 4] for tokens; return an int64 tensor [1, 3] on cpu."),
        (2, "wrote into its input parents; it must copy it first."),
    ):
        with pytest.raises(SamplerError) as error:
            sampler.call(tree_batch(case, rows, made), made)
        assert str(error.value).endswith(said)
    given = tree_batch(case, 3, made)
    tokens, accepted = sampler.call(given, made)
    assert torch.equal(tokens, given.draft_token_ids)
    assert torch.equal(check_output(given, (tokens, accepted)), tokens)
    assert given.parents.tolist() == [-1, -1, 0]
    sampler.close()
