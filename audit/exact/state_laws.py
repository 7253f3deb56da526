"""The exact law of the tokens that a decode loop emits over several rounds, states right or wrong.

Loops are followed round by round; those that go on alike are added up. A token is drafted when it
is tested, and the rest of the draft only where a state keeps it.

Every draw is by inverse CDF from a uniform number of its own: gamma for the drafts, gamma coins,
one for the last token. What is known of each is an interval, which a repeated round starts from.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from audit.case import Case, Prefix, Rows
from audit.counts import tokens_of
from audit.exact.paths import refuse_beyond_limit
from audit.exact.state_faults import Settle, StateFault, state_fault

SequenceLaw = Mapping[Prefix, Fraction]
Interval = tuple[Fraction, Fraction]
Weights = Sequence[Fraction]
WHOLE: Interval = (Fraction(0), Fraction(1))


@lru_cache(maxsize=256)
def state_law(
    case: Case, fault: str, *, length: int, prompt: Prefix = (), shortened: bool = False
) -> SequenceLaw:
    """Returns the law of the first `length` tokens that a loop with this fault emits.

    shortened: `length` is a limit that the loop knows, and it drafts no more than can be emitted
    beside the last token of a round.

    Raises:
        UsageError: no state fault has this id, or the law has too many cells.
        CaseError: a prefix that can be reached has no row.
    """
    refuse_beyond_limit(case.vocab_size**length, of=f"the law of {length} tokens")
    world = _World(case, state_fault(fault), limit=length if shortened else None)
    done: dict[Prefix, Fraction] = defaultdict(Fraction)
    running = {_Loop((), prompt, prompt, prompt, ()): Fraction(1)}
    while running:
        later: dict[_Loop, Fraction] = defaultdict(Fraction)
        for loop, mass in running.items():
            for after, share in world.after_round(loop):
                if len(after.text) < length:
                    later[after] += mass * share
                else:
                    done[after.text[:length]] += mass * share
        running = later
    return dict(done)


@lru_cache(maxsize=64)
def sequence_law(case: Case, *, length: int, prompt: Prefix = ()) -> SequenceLaw:
    """Returns the target's own law of `length` tokens: the product of its conditional rows.

    Raises:
        UsageError: the law has too many cells.
        CaseError: a prefix that can be reached has no row.
    """
    refuse_beyond_limit(case.vocab_size**length, of=f"the law of {length} tokens")
    law: SequenceLaw = {(): Fraction(1)}
    for _ in range(length):
        law = {
            (*text, token): mass * share
            for text, mass in law.items()
            for token, share in enumerate(case.target[prompt + text])
            if share
        }
    return law


def table_of(law: SequenceLaw, *, vocab_size: int, length: int) -> npt.NDArray[np.float64]:
    """Returns a law of sequences in the order of their codes, float64 [vocab_size ** length].

    >>> table_of({(0, 1): Fraction(1, 4), (1, 1): Fraction(3, 4)}, vocab_size=2, length=2)
    array([0.  , 0.25, 0.  , 0.75])
    """
    cells = (tokens_of(code, base=vocab_size, length=length) for code in range(vocab_size**length))
    return np.array([float(law.get(cell, 0)) for cell in cells])


def distance(one: SequenceLaw, other: SequenceLaw) -> Fraction:
    """Returns the total variation between two laws.

    >>> distance({(0,): Fraction(1)}, {(0,): Fraction(1, 4), (1,): Fraction(3, 4)})
    Fraction(3, 4)
    """
    cells = one.keys() | other.keys()
    gaps = (abs(one.get(cell, Fraction(0)) - other.get(cell, Fraction(0))) for cell in cells)
    return sum(gaps, Fraction(0)) / 2


class _Loop(NamedTuple):
    """A decode loop between two rounds: its text, what the states hold, uniforms it repeats."""

    text: Prefix
    target: Prefix
    draft: Prefix
    recorded: Prefix
    coins: tuple[Interval, ...]


class _Round(NamedTuple):
    """A round in the making: its drafted tokens, the last one, what is known of each uniform."""

    coins: tuple[Interval, ...]
    tokens: Prefix = ()
    last: Prefix = ()
    mass: Fraction = Fraction(1)

    def drawn(self, number: int, weights: Weights) -> Iterator[tuple[int, _Round]]:
        """Yields each index that uniform `number` may draw, and the round after it did."""
        (low, high), total, end = self.coins[number], sum(weights), Fraction(0)
        for index, weight in enumerate(weights):
            start, end = end, end + weight / total
            part = max(low, start), min(high, end)
            if part[0] < part[1]:
                coins = (*self.coins[:number], part, *self.coins[number + 1 :])
                share = (part[1] - part[0]) / (high - low)
                yield index, self._replace(coins=coins, mass=self.mass * share)


class _World:
    """The rows of a case, and the fault that acts on the states that ask for them."""

    def __init__(self, case: Case, fault: StateFault, *, limit: int | None) -> None:
        self.most, self.fault, self.limit = case.num_speculative_tokens, fault, limit
        self.reach = max(case.target.reach, case.draft.reach)
        self.target, self.draft = self._reader(case.target), self._reader(case.draft)
        self.settles: tuple[Settle, ...] = (
            fault.target,
            fault.draft,
            fault.draft if fault.recorded is None else fault.recorded,
        )

    def _reader(self, rows: Rows) -> Callable[[Prefix], Weights]:
        known: dict[Prefix, Weights] = {}

        def read(state: Prefix) -> Weights:
            ending = self._ending(state)
            if ending not in known:
                known[ending] = tuple(rows[ending])
            return known[ending]

        return read

    def _ending(self, state: Prefix) -> Prefix:
        """Returns the end of a state, as far as rows depend on it."""
        return state[max(len(state) - self.reach, 0) :]

    def gamma(self, loop: _Loop) -> int:
        """Returns the number of tokens that the next round drafts."""
        return self.most if self.limit is None else min(self.most, self.limit - len(loop.text) - 1)

    def after_round(self, loop: _Loop) -> Iterator[tuple[_Loop, Fraction]]:
        """Yields what one more round may leave, and with which probability."""
        made = _Round(loop.coins or (WHOLE,) * (2 * self.most + 1))
        for n, done in self._tested(loop, made, 0):
            yield self._settled(loop, done, n), done.mass

    def _tested(self, loop: _Loop, made: _Round, n: int) -> Iterator[tuple[int, _Round]]:
        """Yields the accepted tokens and the whole round, of a round that has accepted n so far."""
        p, place = self.target(loop.target + made.tokens), 2 * self.most
        if n == self.gamma(loop):
            for token, after in made.drawn(place, p):
                yield n, after._replace(last=(token,))
            return
        q = self.draft(loop.recorded + made.tokens)
        for token, drafted in made.drawn(n, self.draft(loop.draft + made.tokens)):
            accept, longer = _ratio(p[token], q[token]), (*made.tokens, token)
            coin = drafted._replace(tokens=longer).drawn(self.most + n, (accept, 1 - accept))
            for rejected, after in coin:
                if not rejected:
                    yield from self._tested(loop, after, n + 1)
                    continue
                for last, corrected in after.drawn(place, _residual(p, q)):
                    for done in self._drafted(loop, corrected._replace(last=(last,)), n):
                        yield n, done

    def _drafted(self, loop: _Loop, made: _Round, n: int) -> Iterator[_Round]:
        """Yields the round with as many drafted tokens as some state keeps."""
        number, gamma = len(made.tokens), self.gamma(loop)
        if all(settle(gamma, n)[0] <= number for settle in self.settles):
            yield made
            return
        for token, after in made.drawn(number, self.draft(loop.draft + made.tokens)):
            yield from self._drafted(loop, after._replace(tokens=(*made.tokens, token)), n)

    def _settled(self, loop: _Loop, made: _Round, n: int) -> _Loop:
        """Returns the loop after a round, each state holding what the fault says."""
        gamma = self.gamma(loop)

        def after(state: Prefix, settle: Settle) -> Prefix:
            kept, reads_last = settle(gamma, n)
            return self._ending(state + made.tokens[:kept] + made.last * reads_last)

        states = zip((loop.target, loop.draft, loop.recorded), self.settles, strict=True)
        target, draft, recorded = (after(state, settle) for state, settle in states)
        text = loop.text + made.tokens[:n] + made.last
        return _Loop(text, target, draft, recorded, made.coins if self.fault.reseeded else ())


def _ratio(p: Fraction, q: Fraction) -> Fraction:
    """Returns min(1, p / q); a token that the recorded row excludes passes where p allows it."""
    return min(Fraction(1), p / q) if q else Fraction(int(p > 0))


def _residual(p: Weights, q: Weights) -> list[Fraction]:
    return [max(a - b, Fraction(0)) for a, b in zip(p, q, strict=True)]
