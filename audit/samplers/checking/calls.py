"""What several calls together show: writes, mixed-up rows, the part of the generator."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import torch

from audit.errors import SamplerError
from audit.plural import counted
from audit.samplers.batch import checksum_of, tensors
from audit.samplers.checking.apart import CALLS, Apart, Owner, anything, excluded, mixed_up
from audit.samplers.checking.checker import Checker
from audit.samplers.checking.report import Result
from audit.samplers.checking.worlds import shapes_for
from audit.samplers.command.sampler import CommandSampler
from audit.samplers.interface import Batch

Said = tuple[Result, str]
KEPT: Said = ("kept", "")
LENGTHS = (2, 1, 3)  # of rows that draft unequally: never that of the row before
_MANY = 64  # rows that no random sampler repeats


def untouched(checker: Checker) -> Said:
    """Returns whether a call writes into its inputs, around torch too."""
    batch = checker.made(checker.world)
    before = checksum_of(*tensors(batch).values())
    checker.call(batch)
    changed = (checksum_of(*tensors(batch).values()) != before).nonzero()
    if not len(changed):
        return KEPT
    name = list(tensors(batch))[int(changed[0])]
    return "broken", f"it wrote into its input {name}; it must copy it"


@dataclass(frozen=True)
class _Seen:
    """Two calls of `size` rows; whole: whether every draft that cannot be wrong was accepted."""

    size: int
    mistakes: list[tuple[Owner, Owner]]
    whole: bool


def apart(checker: Checker) -> Said:
    """Returns whether each row emits its own tokens, whatever stands beside it or came before."""
    seen = list(_two_calls_each(checker))
    unlawful = [said for one in seen if (said := excluded(one.mistakes))]
    wrong = {one.size: said for one in seen if (said := mixed_up(one.mistakes, one.size))}
    if wrong and not any(map(anything, (one.mistakes for one in seen))):
        sizes = ", ".join(map(str, wrong))
        return "broken", f"in calls of {sizes} rows: {wrong[max(wrong)]}"
    if unlawful or wrong:
        return "told", unlawful[0] if unlawful else "it emits tokens of target probability 0"
    if seen[0].whole and not all(one.whole for one in seen):
        return "told", "a draft that cannot be wrong is accepted alone and rejected beside others"
    return KEPT


def _two_calls_each(checker: Checker) -> Iterator[_Seen]:
    """Yields what two calls show, for each number of rows, equal draft lengths and unequal."""
    shape = shapes_for(checker.drafting)[0]
    unequal = [LENGTHS] if checker.sampler.facts.ragged else []
    for size in checker.sizes:
        for lengths in [(2,), *unequal]:
            path = replace(shape, parents=tuple(range(-1, max(lengths) - 1)))
            calls = Apart(size, path, checker.drafting is None, checker.device, lengths)
            tokens = [_called(checker, calls, call) for call in range(CALLS)]
            mistakes = [m for call in range(CALLS) for m in calls.mistakes(tokens[call], call)]
            yield _Seen(size, mistakes, all(map(calls.whole, tokens)))


def _called(checker: Checker, calls: Apart, call: int) -> torch.Tensor:
    try:
        return checker.call(calls.batch(call)).cpu()
    except SamplerError as error:
        said = f"in a call of {counted(calls.rows, 'row')} with tokens of its own each:"
        raise SamplerError(f"{said} {checker.sentence(error)}", detail=error.detail) from None


def ends(checker: Checker) -> Said:
    """Returns whether rows end behind a rejected draft, where the target excludes every draft."""
    batch, calls = _rows_of(checker, "p and q without a common token")
    rows = torch.cat([checker.call(batch, call) for call in range(calls)])
    behind = list(set(rows[:, 1:].flatten().tolist()))
    if behind == [-1]:
        return KEPT
    if len(behind) > 1:
        return "told", "rows go on behind a drafted token that the target excludes"
    return "told", (
        f"every row is full, and behind a rejected draft stands {behind[0]} alone: is it padded "
        "with that? the contract asks for -1 behind the emitted tokens"
    )


def repeats(checker: Checker) -> Said:
    """Returns whether a run can be repeated, and by its generator alone: no rule, but told."""
    one, same = _many(checker, (0, 0))
    if not all(map(torch.equal, one, same)):
        return "told", "it draws from another source than its generator: a run cannot be repeated"
    batch, _ = _rows_of(checker, "ordinary rows")
    sources = checker.globals_moved(batch)
    if not sources:
        return KEPT
    return "told", (
        f"it uses the global generator of {' and '.join(sources)}, beside the one that it is "
        "handed or in its place: a run can be repeated because its worker seeds that too"
    )


def varies(checker: Checker) -> Said:
    """Returns whether the generator decides anything."""
    one, other = _many(checker, (0, 1))
    if not all(map(torch.equal, one, other)):
        return KEPT
    return "told", "it does not use its generator, or nothing that it does is random"


def moves_on(checker: Checker) -> Said:
    """Returns whether calls that share a generator differ, as those of an engine must.

    It is told where _MANY rows come twice although a quarter of them are others with other seeds:
    of independent rows, whatever their law, in one check of a million at most.
    """
    if isinstance(checker.sampler.call, CommandSampler):
        return "skipped", "its random numbers come with every request"
    batch, calls = _rows_of(checker, "ordinary rows")
    first, second = checker.calls(batch, 0, times=2 * calls).chunk(2)
    if not torch.equal(first, second):
        return KEPT
    other = torch.cat([checker.call(batch, _MANY + call) for call in range(calls)])
    if (first != other).any(1).sum() < len(first) // 4:
        return "skipped", "too little of what it does depends on a seed"
    return "told", (
        "two calls with one generator give the same rows: it draws from a copy and leaves the "
        "generator as it was, so that an engine which keeps one repeats its random numbers"
    )


def _many(checker: Checker, numbers: tuple[int, int]) -> Iterator[list[torch.Tensor]]:
    """Yields the rows of some ordinary calls, once for each of two generators."""
    batch, calls = _rows_of(checker, "ordinary rows")
    for number in numbers:
        yield [checker.call(batch, number * _MANY + call) for call in range(calls)]


def _rows_of(checker: Checker, kind: str) -> tuple[Batch, int]:
    """Returns a batch of rows of a kind, and the calls of it that have _MANY rows together."""
    rows = max(checker.sizes)
    batch = checker.made(replace(checker.world, rows=rows, kinds=(kind,)))
    return batch, -(-_MANY // rows)
