"""The two models of a round, and what a step sampler must be and return, on both sides of the pipe.

Models answer from tables of rows by prefix, so that a round travels as a few tensors.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

TABLES = ("draft_rows", "target_rows", "starts", "case")
_HALVES = {
    "propose": "(models, generator) -> (draft_token_ids, draft_probs)",
    "verify": "(batch, generator) -> tokens",
}
_WHOLE = "a function (models, generator) -> (draft_token_ids, draft_probs, tokens)"


class Models:
    """The two models of one round, the same number of drafted tokens in every row of a call.

    draft(tokens int64 [batch, n]) returns the draft model's rows after these tokens, [batch,
    vocab]; target(tokens int64 [batch, n]) the target's rows after none of them, after the first,
    ..., after all, [batch, n + 1, vocab]. Both take any tokens, the target up to
    num_speculative_tokens of them and the draft one less, and what they return belongs to the
    caller, who may write into it. Its other attributes: batch_size, vocab_size, device.
    """

    def __init__(
        self, draft_rows: Tensor, target_rows: Tensor, starts: Tensor, case: Tensor
    ) -> None:
        """Makes the models that answer from tables.

        draft_rows, target_rows [cases, prefixes, vocab]; starts int64 [gamma + 2], the index of the
        first prefix of each length; case int64 [batch], the case of each row. A table of one prefix
        holds for all of them.
        """
        self.tables = dict(zip(TABLES, (draft_rows, target_rows, starts, case)))  # noqa: B905
        self.batch_size, self.vocab_size = len(case), draft_rows.shape[2]
        self.num_speculative_tokens = len(starts) - 2
        self.device = case.device

    def no_tokens(self) -> Tensor:
        """Returns the tokens before the first draft, int64 [batch, 0]."""
        return torch.zeros(self.batch_size, 0, dtype=torch.int64, device=self.device)

    def draft(self, tokens: Tensor) -> Tensor:
        """Returns the draft model's rows after these tokens, [batch, vocab]."""
        index = self._index(tokens, self.num_speculative_tokens - 1)
        return self.tables["draft_rows"][self.tables["case"], index]

    def target(self, tokens: Tensor) -> Tensor:
        """Returns the target's rows along these tokens, [batch, n + 1, vocab]."""
        longest, lengths = self.num_speculative_tokens, range(tokens.shape[1] + 1)
        index = torch.stack([self._index(tokens[:, :n], longest) for n in lengths], 1)
        return self.tables["target_rows"][self.tables["case"].unsqueeze(1), index]

    def _index(self, tokens: Tensor, longest: int) -> Tensor:
        """Returns where each row's tokens stand in the tables. Raises ValueError where nowhere."""
        length = tokens.shape[1] if tokens.ndim == 2 else -1
        if len(tokens) != self.batch_size or not 0 <= length <= longest:
            raise ValueError(
                f"a model was called on tokens of shape {list(tokens.shape)}; it takes "
                f"[{self.batch_size}, n] with n from 0 to {longest}"
            )
        if bool(((tokens < 0) | (tokens >= self.vocab_size)).any()):
            raise ValueError(f"a model was called on tokens outside 0..{self.vocab_size - 1}")
        code = torch.zeros_like(self.tables["case"])
        for token in tokens.unbind(1):
            code = code * self.vocab_size + token
        free = self.tables["draft_rows"].shape[1] == 1
        return code * 0 if free else self.tables["starts"][length] + code


class Halves:
    """A step sampler made of a half that proposes and one that verifies a `StepBatch`."""

    def __init__(self, propose: Any, verify: Any, batch: Any) -> None:
        """Makes it; batch: the class of the batch that `verify` is handed."""
        self.propose, self.verify, self._batch = propose, verify, batch

    def __call__(self, models: Models, generator: torch.Generator) -> tuple[Any, Any, Any]:
        """Returns the round in which `verify` judges what `propose` drafts and claims."""
        drafted, claimed = self._proposed(models, generator)
        return drafted, claimed, self._verified(models, drafted, claimed, generator)

    def apart(self, models: Models, generator: torch.Generator) -> tuple[Any, Any, Any]:
        """Returns a round in which `verify` judges an earlier proposal than the last two.

        It has random numbers of its own, so that whatever the halves share is about other drafts,
        also what they keep for one round longer.
        """
        drafted, claimed = map(_kept, self._proposed(models, _another(generator)))
        for _ in range(2):
            self._proposed(models, generator)
        return drafted, claimed, self._verified(models, drafted, claimed, generator)

    def _proposed(self, models: Models, generator: torch.Generator) -> Any:
        """Returns a proposal. Raises ValueError where it is none."""
        proposal = self.propose(models, generator)
        wrong = complaint_of_proposal(models, proposal)
        if wrong:
            raise ValueError(f"propose {wrong}")
        return proposal

    def _verified(self, models: Models, drafted: Any, claimed: Any, generator: Any) -> Any:
        lengths = torch.full_like(drafted[:, 0], models.num_speculative_tokens)
        batch = self._batch(drafted, claimed, models.target(drafted), lengths)
        output = self.verify(batch, generator)
        return output[0] if isinstance(output, tuple) else output


def _another(generator: torch.Generator) -> torch.Generator:
    """Returns a generator that is seeded by a draw from this one."""
    seed = torch.randint(2**62, (1,), generator=generator, device=generator.device)
    return torch.Generator(generator.device).manual_seed(int(seed))


def _kept(value: Any) -> Any:
    """Returns a copy of a tensor, which the next proposal cannot overwrite."""
    return value.clone() if isinstance(value, Tensor) else value


def has_halves(found: Any) -> bool:
    """Whether an object has both halves of a round."""
    return _missing(found) == []


def unusable_step(found: Any) -> str:
    """Returns why an object is no step sampler, as the rest of a sentence; "" where it is one."""
    missing = _missing(found)
    if callable(found) or not missing:
        return ""
    if len(missing) == 2:
        has = f"is of type {type(found).__name__}, which is not callable"
    else:
        (own,) = _HALVES.keys() - missing
        has = f"has {own} but no method {missing[0]}{_HALVES[missing[0]]}"
    return f"{has}; name {_WHOLE}, or an object with propose and verify"


def _missing(found: Any) -> list[str]:
    """Returns the halves of a round that an object does not have."""
    return [half for half in _HALVES if not callable(getattr(found, half, None))]


def complaint_of_step(models: Models, step: object) -> str:
    """Returns what is wrong with a round before its emitted tokens, "" where nothing is."""
    if not isinstance(step, tuple) or len(step) != 3:
        return "returned something else than (draft_token_ids, draft_probs, tokens)"
    drafted, claimed, tokens = step
    if not isinstance(tokens, Tensor):
        return f"returned a {type(tokens).__name__} for tokens; return an int64 tensor"
    return complaint_of_proposal(models, (drafted, claimed))


def complaint_of_proposal(models: Models, proposal: object) -> str:
    """Returns what is wrong with drafts and claimed rows, "" where nothing is."""
    if not isinstance(proposal, (tuple, list)) or len(proposal) != 2:
        return "returned something else than (draft_token_ids, draft_probs)"
    drafted, claimed = proposal
    return _of_drafts(models, drafted) or ("" if claimed is None else _of_rows(models, claimed))


def _of_drafts(models: Models, drafted: object) -> str:
    shape = (models.batch_size, models.num_speculative_tokens)
    wanted = f"return int64 {list(shape)}"
    if not isinstance(drafted, Tensor) or tuple(drafted.shape) != shape:
        return f"returned {_kind(drafted)} for draft_token_ids; {wanted}"
    if drafted.dtype not in (torch.int64, torch.int32):
        return f"returned dtype {drafted.dtype} for draft_token_ids; {wanted}"
    outside = (drafted < 0) | (drafted >= models.vocab_size)
    if bool(outside.any()):
        where = outside.nonzero()[0].tolist()
        value = int(drafted[tuple(where)])
        return f"drafted token {value} at {where}, outside the vocabulary of {models.vocab_size}"
    return ""


def _of_rows(models: Models, claimed: object) -> str:
    shape = (models.batch_size, models.num_speculative_tokens, models.vocab_size)
    wanted = f"return probabilities {list(shape)}, or None"
    if not isinstance(claimed, Tensor) or tuple(claimed.shape) != shape:
        return f"returned {_kind(claimed)} for draft_probs; {wanted}"
    if not claimed.is_floating_point():
        return f"returned dtype {claimed.dtype} for draft_probs; {wanted}"
    bad = ~torch.isfinite(claimed).all(2) | (claimed < 0).any(2) | (claimed.double().sum(2) <= 0)
    if bool(bad.any()):
        row, position = bad.nonzero()[0].tolist()
        return (
            f"claimed a row of draft_probs (batch row {row}, position {position}) that is "
            "negative, not finite or all zero; claim probabilities"
        )
    return ""


def _kind(value: object) -> str:
    if isinstance(value, Tensor):
        return f"shape {list(value.shape)}"
    return f"a {type(value).__name__}"
