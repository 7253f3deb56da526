"""The contract: every way to break it has a sentence, and what keeps it passes."""

from __future__ import annotations

import pytest
import torch
from exact_instances import CHAINS, seed
from steps import step_batch

from audit.errors import SamplerError
from audit.samplers.batch import checksum_of, seed_from, stored_once, tensors
from audit.samplers.contract import (
    Watch,
    check_output,
    explain,
    explain_accepted,
    faulty_rows,
    tokens_of,
)
from audit.samplers.interface import RowOptions, StepBatch
from audit.samplers.rules import SAMPLERS
from audit.samplers.worker import serve

GOOD = [[0, 1, 2], [1, -1, -1], [2, 2, -1]]


class Odd(torch.Tensor):
    """A tensor that is not just one."""


def batch(rows: int = 3) -> StepBatch:
    return step_batch(seed(2), rows, torch.Generator().manual_seed(1))


def refusal(output: object, given: StepBatch | None = None) -> str:
    with pytest.raises(SamplerError) as caught:
        check_output(given or batch(), output)
    return str(caught.value)


@pytest.mark.parametrize("dtype", [torch.int64, torch.int32])
def test_both_integer_types_are_taken_as_int64(dtype):
    tokens = check_output(batch(), torch.tensor(GOOD, dtype=dtype))
    assert tokens.dtype == torch.int64
    assert tokens.tolist() == GOOD


def test_the_number_accepted_may_come_along():
    good = torch.tensor(GOOD)
    assert check_output(batch(), (good, torch.tensor([2, 0, 1]))).tolist() == GOOD
    assert "row 1 says 3 accepted" in refusal((good, torch.tensor([2, 3, 1])))
    assert "shape [2] for num_accepted" in refusal((good, torch.tensor([2, 0])))
    assert "tuple of 3" in refusal((good, good, good))


def test_numbers_accepted_are_explained_without_the_tokens():
    good, ragged = torch.tensor(GOOD), batch()._replace(num_draft_tokens=torch.tensor([2, 1, 2]))
    assert explain_accepted(ragged, good) == explain_accepted(ragged, (good,)) == ""
    assert explain_accepted(ragged, (good, torch.tensor([2, 1, 0]))) == ""
    said = "row 1 says 2 accepted, but 0 to 1 are possible."
    assert explain_accepted(ragged, (good, torch.tensor([2, 2, -1]))) == said
    said = "row 2 says -1 accepted, but 0 to 2 are possible."
    assert explain_accepted(ragged, (good, torch.tensor([2, 1, -1]))) == said


@pytest.mark.parametrize(
    ("output", "said"),
    [
        (None, "returned a NoneType for tokens; return an int64 tensor [3, 3] on cpu"),
        ([[0, 1, 2]] * 3, "returned a list"),
        (torch.zeros(3, 2, dtype=torch.int64), "shape [3, 2]"),
        (torch.zeros(3, 3), "dtype torch.float32 for tokens"),
        (torch.full((3, 3), float("nan")), "with NaN in it"),
        (torch.zeros(3, 3, dtype=torch.int16), "dtype torch.int16"),
        (torch.zeros(3, 3, dtype=torch.bool), "dtype torch.bool"),
        (torch.zeros(3, 3, dtype=torch.int64, device="meta"), "a tensor on meta"),
        (torch.zeros(3, 3, device="meta"), "a tensor on meta"),  # float: its NaN cannot be sought
        (torch.tensor(GOOD).to_sparse(), "a tensor of layout torch.sparse_coo for tokens"),
        (torch.eye(3).to_sparse(), "a tensor of layout torch.sparse_coo for tokens"),
        (torch.eye(3).to_mkldnn(), "a tensor of layout torch._mkldnn for tokens"),
        (torch.tensor(GOOD).as_subclass(Odd), "a Odd, a subclass of Tensor, for tokens"),
    ],
)
def test_what_is_wrong_as_a_whole(output, said):
    assert said in refusal(output)


@pytest.mark.filterwarnings("ignore:torch.quantize_per_tensor", "ignore:The PyTorch API of nested")
def test_quantised_and_nested_tensors_are_named():
    nested = torch.nested.nested_tensor([torch.ones(3)] * 3)
    assert "a nested tensor for tokens" in refusal(nested)
    quantised = torch.quantize_per_tensor(torch.eye(3), 1.0, 0, torch.qint32)
    assert "a quantised tensor of dtype torch.qint32 for tokens" in refusal(quantised)


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ([0, 3, -1], "token 3 at position 1 is not an id from 0 to 2"),
        ([0, -2, -1], "token -2 at position 1 is not an id from 0 to 2"),
        ([-1, -1, -1], "it emits no token"),
        ([0, -1, 1], "it goes on after the -1 at position 1"),
        ([-1, 1, 1], "it emits no token"),
    ],
)
def test_the_first_offending_row_and_value_are_named(row, said):
    tokens = torch.tensor([GOOD[0], row, [9, 9, 9]])
    assert faulty_rows(batch(), tokens).tolist() == [False, True, True]
    sentence = refusal(tokens)
    assert f"row 1 is {row}: " in sentence
    assert said in sentence


def test_a_short_row_may_not_emit_as_much_as_a_long_one():
    ragged = batch()._replace(num_draft_tokens=torch.tensor([2, 1, 1]))
    tokens = torch.tensor([[0, 1, 2], [1, 0, -1], [0, 0, 0]])
    assert faulty_rows(ragged, tokens).tolist() == [False, False, True]
    assert (
        "row 2, which drafts 1 of up to 2 tokens, is [0, 0, 0]: it emits 3 tokens, but at most 2 "
        "are allowed with 1 drafted"
    ) in refusal(tokens, ragged)


EMIT_NOTHING = {  # in some rounds: the first by design, the others where they draw from nothing
    "correction-missing",
    "block-product-as-height",
    "block-residual-of-longer-prefix",
}


@pytest.mark.parametrize("rule", sorted(CHAINS.keys() - EMIT_NOTHING))
def test_our_own_samplers_keep_the_contract(rule):
    given = batch(500)
    before, watch = checksum_of(*tensors(given).values()), Watch(given)
    tokens = tokens_of(given, SAMPLERS[rule](given, torch.Generator().manual_seed(2)))
    assert not faulty_rows(given, tokens).any()
    assert explain(given, tokens) == ""
    watch.check()
    assert torch.equal(checksum_of(*tensors(given).values()), before)


def test_the_fault_that_emits_nothing_breaks_the_contract():
    given = batch(500)
    tokens = SAMPLERS["correction-missing"](given, torch.Generator().manual_seed(2))
    assert "it emits no token" in explain(given, tokens)


@pytest.mark.parametrize("name", ["draft_token_ids", "draft_probs", "target_probs"])
def test_a_write_into_an_input_is_seen(name):
    given = batch()
    before, watch = checksum_of(*tensors(given).values()), Watch(given)
    tensors(given)[name][0, 0] += 1
    with pytest.raises(SamplerError, match=f"wrote into its input {name}"):
        watch.check()
    assert (checksum_of(*tensors(given).values()) != before).sum() == 1


def test_inference_tensors_are_not_watched_but_summed():
    with torch.inference_mode():
        given = batch()
        before, watch = checksum_of(*tensors(given).values()), Watch(given)
        given.target_probs[0, 0] += 1
        watch.check()
        after = checksum_of(*tensors(given).values())
    assert (after != before).tolist() == [False, False, True, False]


def test_a_mixed_batch_is_watched_where_it_can_be():
    with torch.inference_mode():
        draft = batch().draft_probs.clone()
    given = batch()._replace(draft_probs=draft)
    watch = Watch(given)
    given.target_probs[0, 0] += 1
    with pytest.raises(SamplerError, match="wrote into its input target_probs"):
        watch.check()


def test_checksums_see_what_goes_around_torch_and_what_is_only_swapped():
    given = batch()
    before, watch = checksum_of(*tensors(given).values()), Watch(given)
    row = given.target_probs.numpy()[0, 0]
    row[:] = row[::-1].copy()
    watch.check()
    assert (checksum_of(*tensors(given).values()) != before).tolist() == [False, False, True, False]


def test_options_are_watched_and_summed_too():
    options = RowOptions(*(torch.ones(3) for _ in RowOptions._fields))
    given = batch()._replace(options=options)
    watch = Watch(given)
    options.top_k[1] = 2
    assert len(checksum_of(*tensors(given).values())) == 9
    with pytest.raises(SamplerError, match="top_k"):
        watch.check()


def test_repeated_rows_are_stored_once():
    views = torch.rand(1, 2, 5).expand(7, 2, 5)
    assert stored_once(views).shape == (1, 2, 5)
    assert torch.equal(stored_once(views).expand(7, 2, 5), views)
    assert stored_once(torch.rand(1, 2)).shape == (1, 2)


def test_seeds_come_from_the_generator():
    one, other = (torch.Generator().manual_seed(4) for _ in range(2))
    assert [seed_from(one) for _ in range(3)] == [seed_from(other) for _ in range(3)]
    assert seed_from(one) != seed_from(one)


def test_the_worker_knows_the_same_fields():
    assert serve.StepBatch._fields == StepBatch._fields
    assert serve.RowOptions._fields == RowOptions._fields
