"""The decode loop with its states kept wrongly, by the ids of `audit.exact.state_faults`.

n [batch] is the number of accepted tokens of a round of gamma drafted ones.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from audit.samplers.decoders.interface import Decoder
from audit.samplers.decoders.loop import Keeping, Loop, emitted


def keeps_rejected(gamma: int, n: Tensor) -> tuple[Tensor, Tensor]:
    """Returns a state in which the rejected token stands where the correction should."""
    return (n + 1).clamp(max=gamma), n == gamma


def misses_correction(gamma: int, n: Tensor) -> tuple[Tensor, Tensor]:
    """Returns a state that is cut to the accepted tokens and never reads the correction."""
    return n, n == gamma


def misses_bonus(gamma: int, n: Tensor) -> tuple[Tensor, Tensor]:
    """Returns a state that reads corrections, but no bonus token."""
    return n, n < gamma


def misses_accepted(gamma: int, n: Tensor) -> tuple[Tensor, Tensor]:
    """Returns a state that is cut by one accepted token too many."""
    return (n - 1).clamp(min=0), torch.ones_like(n, dtype=torch.bool)


def keeps_all(gamma: int, n: Tensor) -> tuple[Tensor, Tensor]:
    """Returns a state that is not cut at all."""
    return torch.full_like(n, gamma), torch.ones_like(n, dtype=torch.bool)


KEEPING: Mapping[str, Keeping] = {
    "correct": Keeping(),
    "target-keeps-rejected": Keeping(target=keeps_rejected),
    "draft-keeps-rejected": Keeping(draft=keeps_rejected),
    "draft-keeps-rejected-unrecorded": Keeping(draft=keeps_rejected, recorded=emitted),
    "target-misses-correction": Keeping(target=misses_correction),
    "target-misses-bonus": Keeping(target=misses_bonus),
    "target-misses-accepted": Keeping(target=misses_accepted),
    "draft-misses-bonus": Keeping(draft=misses_bonus),
    "target-not-rolled-back": Keeping(target=keeps_all),
    "nothing-rolled-back": Keeping(target=keeps_all, draft=keeps_all),
    "reseeded-each-round": Keeping(reseeded=True),
}


def decoder_of(fault: str) -> Decoder:
    """Returns the decode loop with this state fault, one of KEEPING."""
    return Loop(keeping=KEEPING[fault])
