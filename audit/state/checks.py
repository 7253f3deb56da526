"""What is compared exactly, without any statistics: greedy text, stop tokens, limits, seeds.

A deviation of greedy text is structural where the target's own two best tokens are further apart
than arithmetic can explain, else a tie. Whether the same seed gives the same text is reported and
fails nothing; equal text from other seeds is for the tests of independence.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch

from audit.harness.randomness import generator_for
from audit.samplers.decoders.interface import LoadedDecoder
from audit.state.running import call, calls
from audit.state.world import World
from audit.statistics.e_process import Gate
from audit.statistics.results import Result

GREEDY_TOKENS = 12
_CPU = torch.device("cpu")
_TIE = 1e-4  # of the two largest probabilities of a row, relative; float32 of any batch shape
_ROUNDING = 16  # in units of the dtype's epsilon, where that is more
_ROWS = 8


@dataclass(frozen=True)
class Greedy(Result):
    """Greedy text beside plain greedy decoding from scratch, on one prompt for each token.

    first: the token at which the texts part, of the prompt on which they part most clearly; None
    where all are equal. margin: there, how much likelier the best token is than the second, as a
    share of it; tie: the share that arithmetic explains.
    """

    prompts: int
    tokens: int
    different: int
    first: int | None = None
    margin: float = 0.0
    tie: float = _TIE

    @property
    def structural(self) -> bool:
        """Whether the difference is more than a tie."""
        return self.first is not None and self.margin > self.tie


@dataclass(frozen=True)
class Stops(Result):
    """Sequences with a stop token: how many met it, and how many went on behind it.

    log_e: the natural logarithm of the e-value against the law of stopped sequences.
    """

    token: int
    sequences: int
    stopped: int
    beyond: int
    log_e: float


def greedy(decoder: LoadedDecoder, world: World) -> Greedy:
    """Returns how the decoder's greedy text compares with plain greedy decoding."""
    length, parted = GREEDY_TOKENS, []
    for token in range(world.vocab_size):
        prompt = torch.tensor([[token]])
        generator = generator_for(0, world.id, "greedy", token, device=_CPU)
        found = call(
            decoder, world, rows=1, generator=generator, length=length, prompts=prompt, greedy=True
        )
        text = torch.cat([prompt, found], 1)
        laws = world.after(text)[0, :-1]
        wrong = (laws.argmax(1) != text[0, 1:]).nonzero()
        if len(wrong):
            best, second = laws[wrong[0, 0]].topk(2).values.tolist()
            parted.append(((best - second) / best, int(wrong[0, 0]) + 1))
    margin, first = max(parted, default=(0.0, None))
    tie = max(_TIE, _ROUNDING * torch.finfo(world.dtype).eps)
    return Greedy(world.vocab_size, length, len(parted), first, margin, tie)


def repeatable(decoder: LoadedDecoder, world: World, seed: int) -> bool:
    """Returns whether the same seed gives the same text."""
    rows = min(decoder.facts.max_batch or _ROWS, _ROWS)
    one, again = (
        call(
            decoder,
            world,
            rows=rows,
            generator=generator_for(seed, world.id, "seeds", device=_CPU),
            length=2 * world.length,
        )
        for _ in range(2)
    )
    return bool((one == again).all())


def keep_limits(decoder: LoadedDecoder, world: World, seed: int) -> None:
    """Raises SamplerError where a limit of 1, 2, ... tokens, inside a round, is not kept."""
    for limit in range(1, world.length + 1):
        generator = generator_for(seed, world.id, "limit", limit, device=_CPU)
        rows = min(decoder.facts.max_batch or _ROWS, _ROWS)
        call(decoder, world, rows=rows, generator=generator, length=limit)


def stops(decoder: LoadedDecoder, world: World, sequences: int, *, seed: int) -> Stops:
    """Returns what happens where a token in the middle of the text ends it."""
    token = stop_token(world)
    gate = Gate.create(world.stopped_law(token), {}, tolerance=world.tolerance)
    stopped = beyond = 0
    for tokens in calls(decoder, world, sequences, seed=seed, purpose="stops", stop_token_id=token):
        after = (tokens == token).cumsum(1) > 0
        goes_on = (after[:, :-1] & (tokens[:, 1:] >= 0)).any(1)
        stopped, beyond = stopped + int(after.any(1).sum()), beyond + int(goes_on.sum())
        codes = world.codes(tokens.masked_fill(after, token))
        gate = gate.updated(np.bincount(codes, minlength=len(world.law)))
    return Stops(token, sequences, stopped, beyond, gate.log_e_max)


def stop_token(world: World) -> int:
    """Returns the token that most nearly half of all sequences meet."""
    met = [1.0 - float(world.law[~_meets(world, token)].sum()) for token in range(world.vocab_size)]
    return min(range(world.vocab_size), key=lambda token: abs(met[token] - 0.5))


def _meets(world: World, token: int) -> npt.NDArray[np.bool_]:
    """Returns which sequences hold the token, bool [cells]."""
    powers = world.vocab_size ** np.arange(world.length)
    digits = np.arange(len(world.law))[:, None] // powers % world.vocab_size
    return np.asarray((digits == token).any(axis=1))
