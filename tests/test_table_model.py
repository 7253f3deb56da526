"""Models without weights: their laws are the rows of a case, and a state decides, not the text."""

from __future__ import annotations

import pytest
import torch
from exact_instances import case, g2, i2

from audit.case import Rows
from audit.errors import CaseError, UsageError
from audit.row import Row
from audit.samplers.models.callables import CachedFunction, PositionTable, as_function
from audit.samplers.models.table import TableModel, TokenCache


def model() -> TableModel:
    return TableModel(g2(2).target, 3)


def law(logits: torch.Tensor) -> list[float]:
    return logits.double().softmax(-1).tolist()


@pytest.mark.parametrize("instance", [g2(2), i2()], ids=["g2", "i2"])
@pytest.mark.parametrize("text", [[0], [2, 1], [1, 0, 2, 2, 1, 0, 1]])
def test_every_position_has_the_row_of_its_prefix(instance, text) -> None:
    logits = TableModel(instance.target, 3)(torch.tensor([text])).logits[0]
    for place in range(len(text)):
        expected = instance.target[tuple(text[: place + 1])].floats().tolist()
        assert law(logits[place]) == pytest.approx(expected, abs=1e-6)


def test_rows_given_for_whole_prefixes_win_over_the_extension() -> None:
    # (0, 1) is given, so the row after it is not the rotated one; after (2, 0, 1) it is.
    given = {(): "1/2 1/2", (0,): "1/4 3/4", (1,): "1 0", (0, 1): "1/3 2/3"}
    rows = case(1, given, {(): "1/2 1/2"}).target
    logits = TableModel(rows, 2)(torch.tensor([[0, 1], [1, 1]])).logits
    assert law(logits[0, 1]) == pytest.approx([1 / 3, 2 / 3], abs=1e-6)
    longer = TableModel(rows, 2)(torch.tensor([[1, 0, 1]])).logits
    assert law(longer[0, 2]) == rows[(1, 0, 1)].floats().tolist() == [1.0, 0.0]


def test_the_state_decides_and_not_the_text() -> None:
    own = model()
    held = own(torch.tensor([[0, 1]]), use_cache=True).past_key_values
    after = own(torch.tensor([[2]]), past_key_values=held).logits[0, 0]
    assert law(after) == pytest.approx(g2(2).target[(0, 1, 2)].floats().tolist(), abs=1e-6)
    assert held.get_seq_length() == 3
    stale = own(torch.tensor([[2]]), past_key_values=held).logits[0, 0]  # 2 is read twice
    assert law(stale) == pytest.approx(g2(2).target[(2, 2)].floats().tolist(), abs=1e-6)


def test_hidden_tokens_do_not_count_and_a_crop_forgets() -> None:
    own, text = model(), torch.tensor([[0, 1, 2]])
    hidden = own(text, attention_mask=torch.tensor([[1, 0, 1]])).logits[0, 2]
    assert torch.equal(hidden, own(torch.tensor([[0, 2]])).logits[0, 1])
    cache = own(text, use_cache=True).past_key_values
    cache.crop(1)
    again = own(torch.tensor([[2]]), past_key_values=cache).logits[0, 0]
    assert torch.equal(again, hidden)


def test_rows_of_a_batch_have_their_own_contexts() -> None:
    texts = torch.tensor([[0, 1], [2, 2], [1, 0]])
    together = model()(texts).logits
    assert torch.equal(together, torch.cat([model()(text[None]).logits for text in texts]))


def test_zeros_are_never_drawn_and_a_missing_row_is_named() -> None:
    rows = Rows({(): Row.normalised([1, 0, 1])}, extend="repeat")
    assert law(TableModel(rows, 3)(torch.tensor([[0]])).logits[0, 0]) == [0.5, 0.0, 0.5]
    with pytest.raises(CaseError, match="no row for prefix"):
        TableModel(Rows({(): Row.normalised([1, 1])}, extend="none"), 2)


def test_a_table_that_is_too_large_is_refused() -> None:
    rows = Rows({(): Row.normalised([1] * 2049), (0,): Row.normalised([1] * 2049)})
    with pytest.raises(UsageError, match="more than the limit"):
        TableModel(rows, 2049)


def test_the_forms_of_a_model_agree() -> None:
    own, text = model(), torch.tensor([[0, 1, 2, 2]])
    expected = own(text).logits
    function, cached = as_function(own), CachedFunction(own)
    assert torch.equal(function(text), expected)
    assert torch.equal(function(text[0]), expected[0])
    first, cache = cached(text[:, :3])
    last, cache = cached(text[:, 3:], cache)
    assert torch.equal(torch.cat([first, last], 1), expected)
    assert cache.get_seq_length() == 4


def test_a_position_decides_what_is_overwritten() -> None:
    own = PositionTable(model())
    own(torch.tensor([[0, 1, 1]]), torch.arange(3))
    expected = model()(torch.tensor([[0, 2]])).logits[:, 1:]
    assert torch.equal(own(torch.tensor([[2]]), torch.tensor([1])), expected)
    late = own(torch.tensor([[2]]), torch.tensor([3]))  # one position too far: the old 1 is read
    assert torch.equal(late, model()(torch.tensor([[0, 2, 1, 2]])).logits[:, 3:])
    own.reset()
    assert torch.equal(
        own(torch.tensor([[1]]), torch.tensor([5])), model()(torch.tensor([[1]])).logits
    )


def test_loops_may_ask_a_model_for_its_device_and_type() -> None:
    parameter = next(model().parameters())
    assert (parameter.device.type, parameter.requires_grad) == ("cpu", False)
    assert TableModel(g2(1).draft, 3, dtype=torch.bfloat16)(torch.tensor([[1]])).logits.dtype == (
        torch.bfloat16
    )


def test_a_cache_without_tokens_is_empty() -> None:
    cache = TokenCache()
    cache.crop(0)
    assert cache.get_seq_length() == 0
