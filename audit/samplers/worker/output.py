"""What can be told of a return value without reading a token: its kind, device, shape, dtype."""

from __future__ import annotations

from typing import Any

import torch


def most_accepted(batch: Any) -> int:
    """Returns how many drafted tokens a row of a batch can accept: gamma, or the tree's depth."""
    if not hasattr(batch, "parents"):
        return int(batch.draft_token_ids.shape[1])
    levels = [0]  # of the root, then of each node; a parent comes before its children
    for parent in batch.parents.tolist():
        levels.append(levels[parent + 1] + 1)
    return max(levels)


def complaint(output: Any, batch: Any) -> str:
    """Returns what is wrong with the return value as a whole, "" where nothing is.

    Right is a dense int64 or int32 tensor [batch, gamma + 1] on the batch's device, alone or in a
    tuple with a second one [batch], the numbers accepted.
    """
    rows, gamma = len(batch.draft_token_ids), most_accepted(batch)
    parts = output if isinstance(output, tuple) else (output,)
    if len(parts) not in (1, 2):
        return f"returned a tuple of {len(parts)}; return tokens or (tokens, num_accepted)"
    shapes = {"tokens": (rows, gamma + 1), "num_accepted": (rows,)}
    device = batch.draft_token_ids.device
    for part, (name, shape) in zip(parts, shapes.items()):  # noqa: B905 (not in Python 3.9)
        wrong = _wrong_tensor(part, shape, device)
        if wrong:
            return f"returned {wrong} for {name}; return an int64 tensor {list(shape)} on {device}"
    return ""


def _wrong_tensor(value: Any, shape: tuple[int, ...], device: torch.device) -> str:
    if not isinstance(value, torch.Tensor):
        return f"a {type(value).__name__}"
    odd = _odd_kind(value)
    if odd:
        return odd
    if value.device != device:
        return f"a tensor on {value.device}"
    if tuple(value.shape) != shape:
        return f"shape {list(value.shape)}"
    if value.dtype not in (torch.int64, torch.int32):
        holds_nan = value.is_floating_point() and bool(value.isnan().any())
        return f"dtype {value.dtype}" + (" with NaN in it" if holds_nan else "")
    return ""


def _odd_kind(value: torch.Tensor) -> str:
    """Returns what kind of tensor it is, "" for an ordinary one: of others little can be asked."""
    if value.is_nested:
        return "a nested tensor"
    if type(value) not in (torch.Tensor, torch.nn.Parameter):
        return f"a {type(value).__name__}, a subclass of Tensor,"
    if value.layout is not torch.strided:
        return f"a tensor of layout {value.layout}"
    return f"a quantised tensor of dtype {value.dtype}" if value.is_quantized else ""
