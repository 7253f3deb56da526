"""The log-probabilities that a decode loop reports, against the law that its tokens follow.

They are compared token by token, without statistics. Where they are wrong, it is asked which
mistake gives just these: nothing but zeros, the row before or behind, the row before all sampling
rules. The last is a convention that some engines document, and therefore no fault but a note.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from audit.harness.randomness import generator_for
from audit.samplers.decoders.interface import LoadedDecoder
from audit.state.checks import stop_token
from audit.state.running import call
from audit.state.world import World
from audit.statistics.results import Result

NOTHING = 1.0  # what stands where nothing was reported: no logarithm of a probability
BEFORE_RULES = "the row before all sampling rules"
_CPU = torch.device("cpu")
_ROWS = 16
_TOLERANCE = 1e-3  # of a log-probability; float32 of any batch shape is a hundred times closer
_WORST = 1e6  # stands for what is no number
_COARSE = 0.25  # for types of less precision than float32


@dataclass(frozen=True)
class Reported(Result):
    """Reported log-probabilities of emitted tokens.

    missing: tokens without one; beyond: reported behind the end of a text. wrong: tokens whose own
    is off, the most by `largest`. like: what all of them are instead, "" for nothing listed.
    """

    tokens: int
    missing: int
    beyond: int
    wrong: int
    largest: float
    like: str = ""

    @property
    def broken(self) -> bool:
        """Whether anything but a convention is wrong."""
        return bool(self.missing or self.beyond or (self.wrong and self.like != BEFORE_RULES))


def reported(decoder: LoadedDecoder, world: World, *, seed: int) -> Reported:
    """Returns how the decoder's log-probabilities compare; it must take `logprobs`."""
    rows = min(decoder.facts.max_batch or _ROWS, _ROWS)
    parts = [_part(decoder, world, rows, seed, number) for number in range(-(-_ROWS // rows))]
    said, emitted, wanted = (torch.cat(column) for column in zip(*parts, strict=True))
    given = said != NOTHING
    own = said[emitted & given]
    rivals = {name: law[emitted & given] for name, law in _by_name(wanted).items()}
    tolerance = _TOLERANCE if torch.finfo(world.dtype).bits >= 32 else _COARSE
    off = (own - rivals[""]).abs().nan_to_num(nan=torch.inf)
    return Reported(
        tokens=int(emitted.sum()),
        missing=int((emitted & ~given).sum()),
        beyond=int((~emitted & given).sum()),
        wrong=int((off > tolerance).sum()),
        largest=float(off.clamp(max=_WORST).max()) if len(off) else 0.0,
        like=_like(own, rivals, tolerance),
    )


def _part(
    decoder: LoadedDecoder, world: World, rows: int, seed: int, number: int
) -> tuple[Tensor, Tensor, Tensor]:
    """Returns what was reported and emitted, [rows, length], and what could be, [rows, length, 5].

    There is a stop token where the decoder knows one, so that rows end.
    """
    length = world.length + world.gamma + 1
    logprobs = torch.full((rows, length), NOTHING, dtype=torch.float64)
    more: dict[str, Any] = {"logprobs": logprobs}
    if "stop_token_id" in decoder.options:
        more["stop_token_id"] = stop_token(world)
    generator = generator_for(seed, world.id, "logprobs", number, device=_CPU)
    tokens = call(decoder, world, rows=rows, generator=generator, length=length, **more)
    return logprobs, tokens >= 0, _candidates(world, tokens.clamp(min=0))


_NAMES = ("", "nothing but zeros", "the row before", "the row behind", BEFORE_RULES)


def _candidates(world: World, tokens: Tensor) -> Tensor:
    """Returns the right log-probability of every token, and those of each mistake."""
    text = torch.cat([world.prompts(len(tokens)), tokens], 1)
    start, length = len(world.prompt) - 1, tokens.shape[1]
    laws, raw = world.after(text).log(), world.scratch[0](text).log()
    rows = (
        laws[:, start : start + length],
        torch.zeros_like(laws[:, :length]),
        torch.cat([laws[:, :1], laws], 1)[:, start : start + length],
        laws[:, start + 1 : start + 1 + length],
        raw[:, start : start + length],
    )
    return torch.stack([row.gather(2, tokens.unsqueeze(2)).squeeze(2) for row in rows], 2)


def _by_name(wanted: Tensor) -> Mapping[str, Tensor]:
    return dict(zip(_NAMES, wanted.unbind(2), strict=True))


def _like(own: Tensor, rivals: Mapping[str, Tensor], tolerance: float) -> str:
    """Returns the first mistake that all reported ones agree with, "" where they are right."""
    for name, rival in rivals.items():
        if bool(((own - rival).abs() <= tolerance).all()):
            return name
    return ""
