"""The draft blocks of a small case as rows of a call, and what a call makes of them.

A block is the tuple of drafted tokens; an outcome is the tuple of tokens that a row emits. A
code names an outcome: EXCEPTION where the call raised, else its tokens as digits.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
import numpy.typing as npt
import torch

from audit.case import Case, Prefix
from audit.errors import SamplerError
from audit.exact.engine import rounds_of_case
from audit.harness.batches import Rows, batch_of
from audit.harness.deck import Deck, deck_of
from audit.harness.null import Null, handed_over
from audit.samplers.batch import checksum_of
from audit.samplers.contract import Watch, tokens_of
from audit.samplers.interface import Batch, LoadedSampler
from audit.steering.grids import Indices

Codes = npt.NDArray[np.int64]
EXCEPTION = -1


@dataclass(frozen=True, eq=False)
class Blocks:
    """The draft blocks of a case that can be drafted, with their probabilities.

    chosen: some blocks of a case that has too many to list.
    """

    null: Null
    deck: Deck
    chosen: tuple[Prefix, ...] = ()

    @classmethod
    def of(
        cls,
        case: Case,
        *,
        dtype: torch.dtype,
        device: torch.device,
        chosen: tuple[Prefix, ...] = (),
    ) -> Blocks:
        """Returns the blocks of `case` when its rows are handed over in `dtype`."""
        null = handed_over(case, dtype)
        return cls(null, deck_of([null], dtype=dtype, device=device), chosen)

    @property
    def case(self) -> Case:
        """The case of the rows that are really handed over."""
        return self.null.case

    @property
    def gamma(self) -> int:
        """The most drafted tokens that a round can keep."""
        return self.case.num_speculative_tokens

    @cached_property
    def chances(self) -> dict[Prefix, Fraction]:
        """The probability of every block that can be drafted."""
        rounds = rounds_of_case(self.case)
        pairs = zip(rounds.tokens.tolist(), rounds.weight.fractions(), strict=True)
        return {tuple(block): chance for block, chance in pairs if chance}

    @cached_property
    def tokens(self) -> torch.Tensor:
        """The blocks in their order, int64 [blocks, drafted]."""
        blocks = self.chosen or tuple(self.chances)
        listed = torch.tensor(blocks, dtype=torch.int64, device=self.deck.device)
        return listed.reshape(len(blocks), self.case.drafted)

    def checksums(self) -> torch.Tensor:
        """Returns those of the target and draft rows, which all calls share, int64 [2]."""
        return checksum_of(self.deck.target_rows, self.deck.draft_rows)

    def check(self, before: torch.Tensor) -> None:
        """Raises SamplerError where a call wrote into shared rows, around torch too."""
        changed = (self.checksums() != before).nonzero()
        if len(changed):
            name = ("target_probs", "draft_probs")[int(changed[0])]
            raise SamplerError(f"the sampler wrote into its input {name}; it must copy it.")

    def numbers(self, drafted: torch.Tensor) -> Indices:
        """Returns the number of each block int64 [batch, drafted] in `tokens`, int64 [batch]."""
        code = np.zeros(len(drafted), dtype=np.int64)
        known = np.zeros(len(self.tokens), dtype=np.int64)
        for position in range(self.case.drafted):
            code = code * self.case.vocab_size + drafted[:, position].cpu().numpy()
            known = known * self.case.vocab_size + self.tokens[:, position].cpu().numpy()
        return np.searchsorted(known, code)

    def outcome(self, code: int) -> tuple[int, ...]:
        """Returns the outcome behind a code."""
        return outcome_of(code, vocab_size=self.case.vocab_size, length=self.gamma + 1)

    def batch(self, drafted: torch.Tensor) -> Batch:
        """Returns what a sampler reads for drafts int64 [batch, drafted]."""
        zeros = torch.zeros(len(drafted), dtype=torch.int64, device=self.deck.device)
        return batch_of(self.deck, Rows(zeros, zeros), drafted.clone(), copies=None)


def called(sampler: LoadedSampler, batch: Batch, generator: torch.Generator) -> Codes:
    """Returns the codes of the rows that a call emits, int64 [batch].

    Raises: what the call raises; SamplerError where it writes into its input or returns something
    else than rows of tokens.
    """
    if sampler.facts.contiguous:
        batch = batch._replace(
            draft_probs=batch.draft_probs.contiguous(),
            target_probs=batch.target_probs.contiguous(),
        )
    watch = Watch(batch)
    tokens = tokens_of(batch, sampler.call(batch, generator))
    watch.check()
    return codes_of(tokens, batch.target_probs.shape[2])


def codes_of(tokens: torch.Tensor, vocab_size: int) -> Codes:
    """Returns the codes of rows of tokens, int64 [batch]; ids out of range become -2 or V."""
    digits = np.clip(tokens.cpu().numpy(), -2, vocab_size) + 2
    places = (vocab_size + 3) ** np.arange(digits.shape[1])[::-1]
    return np.asarray(digits @ places)


def outcome_of(code: int, *, vocab_size: int, length: int) -> tuple[int, ...]:
    """Returns the row of `length` tokens behind a code, without the -1 that end it.

    >>> row = torch.tensor([[2, 0, -1, -1]])
    >>> outcome_of(int(codes_of(row, 3)[0]), vocab_size=3, length=4)
    (2, 0)
    """
    digits: list[int] = []
    for _ in range(length):
        code, digit = divmod(code, vocab_size + 3)
        digits.append(digit - 2)
    while digits and digits[0] == -1:
        digits.pop(0)
    return tuple(reversed(digits))
