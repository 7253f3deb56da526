"""Mixed-up rows, proven by one token.

Every row of a call, every position of a row, and both of two calls have tokens of their own, and
every target row is certain: what a row emits at a position can be nothing but its own token there.
Any other token names the row, the position and the call that it was taken from. The drafts of even
rows are certain too and right; those of odd rows are tokens of their own that the target excludes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from audit.samplers.checking.worlds import World, certain
from audit.samplers.interface import Batch
from audit.tree import Tree

CALLS = 2  # a call and the one before it


@dataclass(frozen=True)
class Owner:
    """Where a token belongs: call 0 or 1, row, position; target: it is what the target gives."""

    call: int
    row: int
    position: int
    target: bool


@dataclass(frozen=True)
class Apart:
    """Two calls of `rows` rows that draft a chain, whose own lengths take turns in `lengths`.

    shape is that of the longest, as a tree with a single path where the sampler takes trees.
    """

    rows: int
    shape: Tree
    chain: bool
    device: torch.device
    lengths: Sequence[int]

    @property
    def _width(self) -> int:
        return self.shape.nodes + 1

    @property
    def _ids(self) -> int:
        """The tokens of one kind of one call."""
        return self.rows * self._width

    def batch(self, call: int) -> Batch:
        """Returns one of the two calls."""
        first = 2 * self._ids * call
        own, strange = torch.arange(first, first + 2 * self._ids).view(2, self.rows, self._width)
        drafted = torch.where(self.even[:, None], own, strange)
        vocab = 2 * self._ids * CALLS
        target, draft = (
            certain(tokens.flatten(), vocab).view(self.rows, self._width, vocab)
            for tokens in (own, drafted)
        )
        world = World(
            self.shape,
            chain=self.chain,
            device=self.device,
            rows=self.rows,
            vocab=vocab,
            lengths=self._own if len(set(self.lengths)) > 1 else (),
        )
        return world.handed(target, draft, drafted[:, :-1])

    @property
    def even(self) -> Tensor:
        """Which rows draft what their target gives, bool [rows]."""
        return torch.arange(self.rows) % 2 == 0

    @property
    def _own(self) -> list[int]:
        """How many tokens each row drafts."""
        return [self.lengths[row % len(self.lengths)] for row in range(self.rows)]

    def whole(self, tokens: Tensor) -> bool:
        """Returns whether the even rows emit all that they may."""
        most = torch.tensor(self._own) + 1
        return bool(((tokens >= 0).sum(1) == most)[self.even].all())

    def owner(self, token: int) -> Owner:
        """Returns where a token belongs.

        >>> Apart(2, Tree.chain(1), True, torch.device("cpu"), (1,)).owner(3)
        Owner(call=0, row=1, position=1, target=True)
        """
        call, rest = divmod(token, 2 * self._ids)
        strange, rest = divmod(rest, self._ids)
        return Owner(call, *divmod(rest, self._width), target=not strange)

    def mistakes(self, tokens: Tensor, call: int) -> list[tuple[Owner, Owner]]:
        """Returns, for each token that cannot be there, whose it should be and whose it is."""
        due = (
            (Owner(call, row, position, target=True), self.owner(token))
            for row, emitted in enumerate(tokens.tolist())
            for position, token in enumerate(emitted)
            if token >= 0
        )
        return [(should, found) for should, found in due if should != found]


def mixed_up(mistakes: Sequence[tuple[Owner, Owner]], rows: int) -> str:
    """Returns the sentence on tokens that belong elsewhere, "" where there are none."""
    foreign = [(a, b) for a, b in mistakes if (a.call, a.row) != (b.call, b.row)]
    if foreign:
        return _whose(foreign, rows)
    moved = [(a.position, b.position) for a, b in mistakes if b.target]
    if moved:
        return f"what is emitted at position {moved[0][0]} belongs to position {moved[0][1]}"
    return ""


def _whose(foreign: Sequence[tuple[Owner, Owner]], rows: int) -> str:
    """Returns from which row the rows take what is not theirs."""
    should, found = foreign[0]
    if should.call != found.call:
        return f"row {should.row} emits what belongs to row {found.row} of the call before"
    said = f"row {should.row} emits what belongs to row {found.row} of the same call"
    shifts = {(a.row - b.row) % rows for a, b in foreign}  # one: all rows are shifted alike
    if len({b.row for _, b in foreign}) == 1 and rows > 2:
        return f"{said}, as all rows do that are mixed up"
    if len(shifts) == 1 and rows > 2:
        return f"{said}; every row takes that of the row {_places(shifts.pop())} before it"
    return said


def _places(shift: int) -> str:
    return "right" if shift == 1 else f"{shift} places"


def excluded(mistakes: Sequence[tuple[Owner, Owner]]) -> str:
    """Returns the sentence on a row that emits its own draft where the target excludes it."""
    own = [a.row for a, b in mistakes if (a.call, a.row) == (b.call, b.row) and not b.target]
    return f"row {own[0]} emits a drafted token of target probability 0" if own else ""


def anything(mistakes: Sequence[tuple[Owner, Owner]]) -> bool:
    """Returns whether tokens of a call are emitted before it: then they are not taken from it."""
    return any(found.call > should.call for should, found in mistakes)
