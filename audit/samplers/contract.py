"""The contract of `audit.samplers.interface`, checked: what a call returned and what it touched.

What shapes tell is checked at every call by `tokens_of` and `Watch`, without host
synchronisation (but for the parents of a tree, whose depth is a matter of shape). What needs the
values is one flag a row, `faulty_rows`: the harness may add the flags up and read them once a
chunk; only then does `explain` look for the first faulty row.
"""

from __future__ import annotations

import torch
from torch import Tensor

from audit.errors import SamplerError
from audit.plural import counted
from audit.samplers.batch import tensors
from audit.samplers.interface import Batch, StepBatch
from audit.samplers.worker.output import complaint, most_accepted


def check_output(batch: Batch, output: object) -> Tensor:
    """Returns the tokens of a return value that keeps the contract, int64 [batch, gamma + 1].

    Raises: SamplerError, naming the first offending row and value.
    """
    tokens = tokens_of(batch, output)
    said = explain(batch, tokens) or explain_accepted(batch, output)
    if said:
        raise SamplerError(f"the sampler broke its contract: {said}")
    return tokens


def tokens_of(batch: Batch, output: object) -> Tensor:
    """Returns the tokens of a return value as int64 [batch, gamma + 1], their values unchecked.

    Token ids are int64 or int32; every other type, shape, dtype or device is refused.
    Raises: SamplerError.
    """
    wrong = complaint(output, batch)
    if wrong:
        raise SamplerError(f"the sampler {wrong}.")
    tokens: Tensor = output[0] if isinstance(output, tuple) else output  # type: ignore[assignment]
    return tokens.long()


def faulty_rows(batch: Batch, tokens: Tensor) -> Tensor:
    """Returns which rows are no emitted block, bool [batch].

    A block is 1 to num_draft_tokens + 1 (for a tree: depth + 1) ids of the vocabulary, then -1.
    """
    emitted = tokens >= 0
    beyond = (tokens < -1) | (tokens >= batch.target_probs.shape[2])
    after_the_end = emitted[:, 1:] & ~emitted[:, :-1]
    too_many = emitted.sum(1) > _most_accepted(batch) + 1
    return beyond.any(1) | after_the_end.any(1) | ~emitted[:, 0] | too_many


def explain(batch: Batch, tokens: Tensor) -> str:
    """Returns the sentence on the first faulty row, "" where there is none."""
    faulty = faulty_rows(batch, tokens).nonzero()
    if not len(faulty):
        return ""
    row = int(faulty[0])
    values = tokens[row].tolist()
    most = int(_most_accepted(batch)[row]) + 1
    said = _fault(values, batch.target_probs.shape[2], most)
    return f"row {row}{_length(batch, row)} is {values}: {said}."


def _length(batch: Batch, row: int) -> str:
    """Returns how many tokens a row drafts where it is fewer than others may."""
    if not isinstance(batch, StepBatch):
        return ""
    own, longest = int(batch.num_draft_tokens[row]), batch.draft_token_ids.shape[1]
    of = counted(longest, "token")
    return f", which drafts {own} of up to {of}," if own < longest else ""


def _fault(row: list[int], vocab_size: int, most: int) -> str:
    """Returns what is wrong with a faulty row of which at most `most` tokens may be emitted."""
    for position, token in enumerate(row):
        if token < -1 or token >= vocab_size:
            return f"token {token} at position {position} is not an id from 0 to {vocab_size - 1}"
    length = row.index(-1) if -1 in row else len(row)
    if length == 0:
        return "it emits no token, and every round emits at least one"
    if any(token >= 0 for token in row[length:]):
        return f"it goes on after the -1 at position {length}, which ends a row"
    return f"it emits {length} tokens, but at most {most} are allowed with {most - 1} drafted"


def explain_accepted(batch: Batch, output: object) -> str:
    """Returns the sentence on the first number accepted that no round can have, or "".

    output is what `tokens_of` took; "" where it holds no numbers accepted.
    """
    if not isinstance(output, tuple) or len(output) < 2:
        return ""
    accepted: Tensor = output[1]
    most = _most_accepted(batch)
    wrong = ((accepted < 0) | (accepted > most)).nonzero()
    if not len(wrong):
        return ""
    row = int(wrong[0])
    return f"row {row} says {int(accepted[row])} accepted, but 0 to {int(most[row])} are possible."


def _most_accepted(batch: Batch) -> Tensor:
    """Returns how many drafted tokens each row can accept, int64 [batch]."""
    if isinstance(batch, StepBatch):
        return batch.num_draft_tokens
    drafted = batch.draft_token_ids
    return torch.full((len(drafted),), most_accepted(batch), device=drafted.device)


class Watch:
    """Remembers the inputs of a call, to see afterwards whether the sampler wrote into them.

    It reads the counters that torch keeps of in-place operations, which costs nothing; tensors made
    under `torch.inference_mode` have none and are not watched. Writes that go around torch or into
    such tensors show in `audit.samplers.batch.checksum_of`, at one pass over every tensor.
    """

    def __init__(self, batch: Batch) -> None:
        self._batch = batch
        self._versions = _versions(batch)

    def check(self) -> None:
        """Raises SamplerError, naming the tensor, where one was changed in place."""
        for name, version in _versions(self._batch).items():
            if version != self._versions[name]:
                raise SamplerError(f"the sampler wrote into its input {name}; it must copy it.")


def _versions(batch: Batch) -> dict[str, int]:
    watched = {name: t for name, t in tensors(batch).items() if not t.is_inference()}
    return {name: tensor._version for name, tensor in watched.items()}
