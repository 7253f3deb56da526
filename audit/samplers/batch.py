"""Small reads of a batch and its generator that several callers share."""

from __future__ import annotations

import torch
from torch import Tensor

from audit.samplers.interface import Batch
from audit.samplers.worker.wire import as_bytes

_MULTIPLIER = 2654435761  # Knuth's, odd, so that no position has weight 0


def tensors(batch: Batch) -> dict[str, Tensor]:
    """Returns the tensors of a batch by field name, those of its options among them."""
    own = {name: value for name, value in batch._asdict().items() if isinstance(value, Tensor)}
    options = getattr(batch, "options", None)
    return own | (options._asdict() if options else {})


def stored_once(tensor: Tensor) -> Tensor:
    """Returns the view of a tensor that leaves out the repetitions of an `expand()`.

    >>> stored_once(torch.zeros(1, 3).expand(4, 3)).shape
    torch.Size([1, 3])
    """
    return tensor[tuple(slice(1) if stride == 0 else slice(None) for stride in tensor.stride())]


def log_probs(probs: Tensor) -> Tensor:
    """Returns the logarithms of float32 probabilities; repeated rows are computed once.

    >>> log_probs(torch.tensor([1.0, 0.0]))
    tensor([0., -inf])
    """
    return stored_once(probs).float().log().expand(probs.shape)


def seed_from(generator: torch.Generator) -> int:
    """Returns a seed drawn from the generator, 0 to 2^63 - 2."""
    drawn = torch.randint(2**63 - 1, (1,), generator=generator, device=generator.device)
    return int(drawn.item())


def checksum_of(*tensors: Tensor) -> Tensor:
    """Returns one int64 a tensor, on their device, that changes with any byte or their order."""
    return torch.stack([_checksum(tensor) for tensor in tensors])


def _checksum(tensor: Tensor) -> Tensor:
    data = as_bytes(stored_once(tensor).contiguous()).long()
    position = torch.arange(1, len(data) + 1, device=data.device)
    return ((data + 1) * position * _MULTIPLIER).sum()
