"""Samplers of the tests of steering: correct in every way of writing one, or wrong in one place."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable
from random import random as python_coin

import numpy as np
import torch
from torch import Tensor

from audit.samplers.interface import StepBatch

Accept = Callable[[Tensor, Tensor, Tensor], Tensor]
Draw = Callable[[Tensor, torch.Generator], Tensor]
Coins = Callable[[int, int, torch.Generator, torch.dtype], Tensor]
Sampler = Callable[[StepBatch, torch.Generator], Tensor]


def fresh_coins(rows: int, gamma: int, generator: torch.Generator, dtype: torch.dtype) -> Tensor:
    return torch.rand(rows, gamma, generator=generator, dtype=dtype)


def shared_coins(rows: int, gamma: int, generator: torch.Generator, dtype: torch.dtype) -> Tensor:
    return torch.rand(1, gamma, generator=generator, dtype=dtype).expand(rows, gamma)


def few_levels(rows: int, gamma: int, generator: torch.Generator, dtype: torch.dtype) -> Tensor:
    return torch.randint(0, 101, (rows, gamma), generator=generator).to(dtype) / 100


def below(u: Tensor, p: Tensor, q: Tensor) -> Tensor:
    return u < p / q


def up_to(u: Tensor, p: Tensor, q: Tensor) -> Tensor:
    return u <= p / q


def multinomial(weights: Tensor, generator: torch.Generator) -> Tensor:
    return torch.multinomial(weights, 1, generator=generator)[:, 0]


def exponential_race(weights: Tensor, generator: torch.Generator) -> Tensor:
    return (weights / torch.empty_like(weights).exponential_(generator=generator)).argmax(1)


def gumbel_max(weights: Tensor, generator: torch.Generator) -> Tensor:
    u = torch.rand(weights.shape, generator=generator, dtype=weights.dtype)
    return (weights.log() - (-u.log()).log()).argmax(1)


def running_sum(weights: Tensor, generator: torch.Generator) -> Tensor:
    sums = weights.cumsum(1)
    u = torch.rand(len(weights), 1, generator=generator, dtype=weights.dtype)
    token = torch.searchsorted(sums, u * sums[:, -1:], right=True)
    return token[:, 0].clamp(max=weights.shape[1] - 1)


def short_running_sum(weights: Tensor, generator: torch.Generator) -> Tensor:
    """Sums in float32 from the left; what is left over goes to the last id."""
    sums = np.cumsum((weights / weights.sum(1, keepdim=True)).numpy(), axis=1, dtype=np.float32)
    u = torch.rand(len(weights), 1, generator=generator, dtype=torch.float32).numpy()
    return torch.from_numpy((sums <= u).sum(1)).clamp(max=weights.shape[1] - 1)


DRAWS = {
    "multinomial": multinomial,
    "exponential-race": exponential_race,
    "gumbel-max": gumbel_max,
    "running-sum": running_sum,
}


def verifier(
    *,
    draw: Draw = multinomial,
    accept: Accept = below,
    coins: Coins = fresh_coins,
    least: float = 0.0,
) -> Sampler:
    """Returns the ratio rule with these parts; least: what the residual is raised to."""

    def sampler(batch: StepBatch, generator: torch.Generator) -> Tensor:
        p, q, x = batch.target_probs, batch.draft_probs, batch.draft_token_ids
        rows, gamma = x.shape
        px = p[:, :gamma].gather(2, x[..., None])[..., 0]
        qx = q.gather(2, x[..., None])[..., 0]
        accepted = accept(coins(rows, gamma, generator, p.dtype), px, qx)
        n = accepted.long().cumprod(1).sum(1)
        row = torch.arange(rows)
        padded = torch.cat([q, torch.zeros_like(q[:, :1])], 1)
        token = draw((p[row, n] - padded[row, n]).clamp(min=least), generator)
        position, kept = torch.arange(gamma + 1), torch.cat([x, x[:, :1]], 1)
        last = torch.where(position == n[:, None], token[:, None], -1)
        return torch.where(position < n[:, None], kept, last)

    return sampler


def one_at_a_time(sampler: Sampler) -> Sampler:
    """Returns a sampler without a batch dimension: it verifies row after row."""

    def rows(batch: StepBatch, generator: torch.Generator) -> Tensor:
        each = [
            sampler(StepBatch(*(part[i : i + 1] for part in batch[:4])), generator)
            for i in range(len(batch.draft_token_ids))
        ]
        return torch.cat(each)

    return rows


HELD = np.random.default_rng(5)  # a generator that a module makes when it is imported


def in_python(uniform: Callable[[], float], pick: Callable[[np.ndarray], int]) -> Sampler:
    """Returns the ratio rule in plain Python: it stops drawing at the first rejection."""

    def sampler(batch: StepBatch, generator: torch.Generator) -> Tensor:
        p, q = batch.target_probs.double().numpy(), batch.draft_probs.double().numpy()
        emitted = np.full((len(p), p.shape[1]), -1)
        for row, drafted in enumerate(batch.draft_token_ids.tolist()):
            n = 0
            while n < len(drafted) and uniform() * q[row, n, drafted[n]] < p[row, n, drafted[n]]:
                emitted[row, n] = drafted[n]
                n += 1
            weights = p[row, n]
            if n < len(drafted):
                weights = np.maximum(weights - q[row, n], 0)
            emitted[row, n] = pick(weights / weights.sum())
        return torch.from_numpy(emitted)

    return sampler


def by_legacy_choice(weights: np.ndarray) -> int:
    return int(np.random.choice(len(weights), p=weights))


def by_gumbel(weights: np.ndarray) -> int:
    with np.errstate(divide="ignore"):
        return int((np.log(weights) + HELD.gumbel(size=len(weights))).argmax())


def by_choices(weights: np.ndarray) -> int:
    return random.choices(range(len(weights)), weights=weights.tolist())[0]


PLAIN = {
    "numpy's legacy functions": in_python(np.random.rand, by_legacy_choice),
    "a numpy Generator of the module": in_python(HELD.random, by_gumbel),
    "Python's random": in_python(python_coin, by_choices),
}

CORRECT = verifier()


def spoilt(batch: StepBatch, generator: torch.Generator, rows: Tensor) -> Tensor:
    """Returns what a correct sampler emits, but token 0 first in these rows, bool [batch]."""
    tokens = CORRECT(batch, generator)
    first = torch.arange(tokens.shape[1]) == 0
    return torch.where(rows[:, None] & first, 0, tokens)


def hidden_interval(width: float) -> Sampler:
    """Returns a sampler that goes wrong while one number is in [.4, .4 + width)."""

    def sampler(batch: StepBatch, generator: torch.Generator) -> Tensor:
        u = torch.rand(len(batch.draft_token_ids), generator=generator)
        return spoilt(batch, generator, (u >= 0.4) & (u < 0.4 + width))

    return sampler


def shared_coin(rate: float) -> Sampler:
    """Returns a sampler that goes wrong in all rows of a call at once, at a rate."""

    def sampler(batch: StepBatch, generator: torch.Generator) -> Tensor:
        wrong = torch.rand(1, generator=generator) < rate
        return spoilt(batch, generator, wrong.expand(len(batch.draft_token_ids)))

    return sampler


def hidden_entropy(rate: float) -> Sampler:
    """Returns a sampler that goes wrong at a rate decided by os.urandom."""

    def sampler(batch: StepBatch, generator: torch.Generator) -> Tensor:
        rows = len(batch.draft_token_ids)
        numbers = np.frombuffer(os.urandom(4 * rows), dtype=np.uint32) < rate * 2**32
        return spoilt(batch, generator, torch.from_numpy(numbers))

    return sampler


class Counting:
    """Goes wrong at every fifth call."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, batch: StepBatch, generator: torch.Generator) -> Tensor:
        self.calls += 1
        rows = torch.full((len(batch.draft_token_ids),), self.calls % 5 == 0)
        return spoilt(batch, generator, rows)


class Stumbling:
    """Is correct for 300 calls; then every 30th raises, or its first row emits `token` alone."""

    def __init__(self, token: int | None = None) -> None:
        self.token, self.calls = token, 0

    def __call__(self, batch: StepBatch, generator: torch.Generator) -> Tensor:
        self.calls += 1
        tokens = CORRECT(batch, generator)
        if self.calls > 300 and self.calls % 30 == 0:
            if self.token is None:
                raise RuntimeError("at every 30th call")
            tokens[0] = torch.where(torch.arange(tokens.shape[1]) == 0, self.token, -1)
        return tokens


def by_the_clock(batch: StepBatch, generator: torch.Generator) -> Tensor:
    odd = time.perf_counter_ns() // 1000 % 3 == 0
    return spoilt(batch, generator, torch.full((len(batch.draft_token_ids),), odd))


def by_system_random(batch: StepBatch, generator: torch.Generator) -> Tensor:
    odd = random.SystemRandom().random() < 0.2
    return spoilt(batch, generator, torch.full((len(batch.draft_token_ids),), odd))


def by_permutation(batch: StepBatch, generator: torch.Generator) -> Tensor:
    """Renames the tokens at random."""
    tokens = CORRECT(batch, generator)
    order = torch.randperm(batch.target_probs.shape[2], generator=generator)
    return torch.where(tokens >= 0, order[tokens], -1)


def restarted(generators: Callable[[torch.Generator], tuple[torch.Generator, ...]]) -> Sampler:
    """Returns a correct sampler that draws coins and tokens from two generators of its own."""

    def sampler(batch: StepBatch, generator: torch.Generator) -> Tensor:
        first, second = generators(generator)

        def coins(rows: int, gamma: int, _: torch.Generator, dtype: torch.dtype) -> Tensor:
            return fresh_coins(rows, gamma, first, dtype)

        return verifier(coins=coins, draw=lambda w, _: running_sum(w, second))(batch, generator)

    return sampler


def seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def at_every_call(generator: torch.Generator) -> tuple[torch.Generator, ...]:
    return (seeded(3),) * 2


def after_seven_calls(generator: torch.Generator) -> tuple[torch.Generator, ...]:
    return (seeded(generator.initial_seed() % 7),) * 2


def two_of_one_seed(generator: torch.Generator) -> tuple[torch.Generator, ...]:
    return seeded(generator.initial_seed()), seeded(generator.initial_seed())


def of_the_call(generator: torch.Generator) -> tuple[torch.Generator, ...]:
    return (seeded(generator.initial_seed() + 1),) * 2


def frozen_multinomial(batch: StepBatch, generator: torch.Generator) -> Tensor:
    """Draws everything by weights, from a generator that it restarts at every call."""
    own = seeded(3)

    def accept(u: Tensor, p: Tensor, q: Tensor) -> Tensor:
        return torch.bernoulli((p / q).clamp(max=1), generator=own) > 0

    return verifier(accept=accept, draw=lambda w, _: multinomial(w, own))(batch, generator)
