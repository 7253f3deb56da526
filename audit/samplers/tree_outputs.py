"""The forms in which engines hand over a verified tree, each turned into the contract's tokens.

Every function returns int64 [batch, gamma + 1], padded with -1, gamma being the depth of the
tree. Inputs are integer tensors; a number of accepted tokens never counts the root. What the
values say about the law is not checked here, only whether they can be read.

References: `TreeSpeculativeSamplingTargetOnly` and `VerifyTreeGreedy` of SGLang,
`evaluate_posterior` of EAGLE.
"""

from __future__ import annotations

import torch
from torch import Tensor

from audit.errors import SamplerError

_ANY = -1  # a size that may be anything


def from_accept_index(predict: Tensor, accept_index: Tensor, accept_count: Tensor) -> Tensor:
    """Returns the tokens of SGLang's triple.

    predict [batch * (nodes + 1)]: at a node that was accepted, the token that follows it; the
    root stands first in every row. accept_index [batch, gamma + 1]: the places in `predict` of the
    root and of the accepted nodes, then -1. accept_count [batch]: accepted tokens, 0 to gamma.

    Raises: SamplerError for a wrong shape, a place that is not in `predict`, or another number of
    places than accept_count + 1.

    >>> predict = torch.tensor([7, 0, 5, 0, 0, 4])  # two rows of a root and two nodes
    >>> from_accept_index(predict, torch.tensor([[0, 2], [5, -1]]), torch.tensor([1, 0]))
    tensor([[ 7,  5],
            [ 4, -1]])
    """
    rows = len(accept_count)
    _check_shape("predict", predict, (_ANY,))
    _check_shape("accept_index", accept_index, (rows, _ANY))
    _check_shape("accept_count", accept_count, (rows,))
    _check_range("accept_index", accept_index, -1, predict.numel() - 1)
    listed = accept_index >= 0
    tokens = torch.where(listed, predict.long()[accept_index.clamp(min=0).long()], -1)
    position = torch.arange(accept_index.shape[1], device=accept_index.device)
    if bool((listed != (position <= accept_count.unsqueeze(1))).any()):
        raise SamplerError(
            "accept_index and accept_count disagree: a row must list the root and as many nodes "
            "as it counts, then -1."
        )
    return tokens


def from_best_path(candidates: Tensor, best: Tensor, accepted: Tensor, last: Tensor) -> Tensor:
    """Returns the tokens of EAGLE's choice of a path.

    candidates [batch, paths, gamma + 1]: the tokens of every path from the root on, the root's
    first, anything beyond a path's end. best [batch]: the path kept. accepted [batch]: how many
    drafted tokens of it, 0 to gamma. last [batch]: the token drawn after them.

    Raises: SamplerError for a wrong shape, or a path or number that cannot be.

    >>> candidates = torch.tensor([[[9, 1, 2], [9, 3, 0]]])
    >>> one = torch.tensor([1])
    >>> from_best_path(candidates, best=one, accepted=one, last=torch.tensor([5]))
    tensor([[ 3,  5, -1]])
    """
    rows = len(best)
    _check_shape("candidates", candidates, (rows, _ANY, _ANY))
    for name, values in (("best", best), ("accepted", accepted), ("last", last)):
        _check_shape(name, values, (rows,))
    _check_range("best", best, 0, candidates.shape[1] - 1)
    _check_range("accepted", accepted, 0, candidates.shape[2] - 1)
    path = candidates[torch.arange(rows, device=best.device), best.long()].long()
    tokens = torch.cat([path[:, 1:], path[:, :1]], dim=1)
    at = accepted.long().unsqueeze(1)
    return from_padded(tokens.scatter(1, at, last.long().unsqueeze(1)), accepted + 1)


def from_padded(tokens: Tensor, lengths: Tensor) -> Tensor:
    """Returns tokens [batch, gamma + 1] with -1 in place of all that stands beyond `lengths`.

    lengths [batch]: emitted tokens, 1 to gamma + 1, the last draw included.

    Raises: SamplerError for a wrong shape or length.

    >>> from_padded(torch.tensor([[4, 0, 8]]), torch.tensor([2]))
    tensor([[ 4,  0, -1]])
    """
    rows = len(lengths)
    _check_shape("tokens", tokens, (rows, _ANY))
    _check_shape("lengths", lengths, (rows,))
    _check_range("lengths", lengths, 1, tokens.shape[1])
    position = torch.arange(tokens.shape[1], device=tokens.device)
    return torch.where(position < lengths.unsqueeze(1), tokens.long(), -1)


def _check_shape(name: str, tensor: Tensor, shape: tuple[int, ...]) -> None:
    if tensor.is_floating_point() or tensor.dtype == torch.bool:
        raise SamplerError(f"{name} is of dtype {tensor.dtype}; it must hold integers.")
    fits = tensor.dim() == len(shape) and all(
        wanted in (_ANY, size) for wanted, size in zip(shape, tensor.shape, strict=True)
    )
    if not fits:
        wanted = ", ".join("any" if size == _ANY else str(size) for size in shape)
        raise SamplerError(f"{name} has shape {list(tensor.shape)}; it must be [{wanted}].")


def _check_range(name: str, values: Tensor, low: int, high: int) -> None:
    wrong = (values < low) | (values > high)
    if bool(wrong.any()):
        first = int(values[wrong][0])
        raise SamplerError(f"{name} holds {first}, but must lie in {low}..{high}.")
