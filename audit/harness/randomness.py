"""Randomness of the harness: a counter, not a stream.

The number for (seed, purpose, trial, draw) is a fixed function of these four, in integer
arithmetic, so drafts and completions do not depend on batch size, order, device or resumption.
The mixing function is the finaliser of SplitMix64 (Steele, Lea, Flood 2014).
"""

from __future__ import annotations

import hashlib

import torch

_GOLDEN = 0x9E3779B97F4A7C15 - (1 << 64)
_MIX_A = 0xBF58476D1CE4E5B9 - (1 << 64)
_MIX_B = 0x94D049BB133111EB - (1 << 64)


def key_of(*parts: object) -> int:
    """Returns a signed 64-bit key, a one-way function of its parts."""
    text = "\x1f".join(str(part) for part in parts)
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big", signed=True)


def uniforms(keys: torch.Tensor, trials: torch.Tensor) -> torch.Tensor:
    """Returns float64 in [0, 1), multiples of 2^-53: one number for each key and trial number.

    keys and trials are int64 and broadcast; the numbers of different keys are unrelated.
    """
    mixed = _mixed(trials * _GOLDEN + keys)
    return _shifted(mixed, 11).to(torch.float64) * 2.0**-53


def _mixed(x: torch.Tensor) -> torch.Tensor:
    x = (x ^ _shifted(x, 30)) * _MIX_A
    x = (x ^ _shifted(x, 27)) * _MIX_B
    return x ^ _shifted(x, 31)


def _shifted(x: torch.Tensor, by: int) -> torch.Tensor:
    """Returns x >> by without its sign: int64 holds an unsigned number here."""
    return (x >> by) & ((1 << (64 - by)) - 1)


def generator_for(seed: int, *parts: object, device: torch.device) -> torch.Generator:
    """Returns the generator handed to a sampler for one chunk."""
    generator = torch.Generator(device=device)
    return generator.manual_seed(key_of(seed, "sampler", *parts) & ((1 << 63) - 1))
