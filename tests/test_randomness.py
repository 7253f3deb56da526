"""The counter generator: fixed, uniform, and independent of how trials are grouped."""

import math

import torch
from scipy import special

from audit.harness.randomness import generator_for, key_of, uniforms


def key(*parts):
    return torch.tensor(key_of(*parts))


def test_numbers_depend_on_key_and_trial_only():
    trials = torch.arange(1000)
    whole = uniforms(key(7, "draft"), trials)
    parts = torch.cat([uniforms(key(7, "draft"), part) for part in trials.split(7)])
    assert torch.equal(whole, parts)
    assert not torch.equal(whole, uniforms(key(8, "draft"), trials))


def test_first_numbers_follow_the_published_mixing_function():
    # SplitMix64 written again with Python integers (Steele, Lea, Flood 2014).
    mask = (1 << 64) - 1

    def reference(state: int) -> float:
        z = state & mask
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
        return ((z ^ (z >> 31)) >> 11) * 2.0**-53

    expected = [reference(key_of("any") + trial * 0x9E3779B97F4A7C15) for trial in range(5)]
    assert uniforms(key("any"), torch.arange(5)).tolist() == expected


def test_numbers_are_uniform():
    # False-alarm rate below 1e-6 (chi-square on 64 cells at 1e-7).
    def p_value(values: torch.Tensor) -> float:
        counts = torch.bincount((values * 64).long(), minlength=64).double()
        expected = len(values) / 64
        return float(special.chdtrc(63, float(((counts - expected) ** 2 / expected).sum())))

    numbers = uniforms(key("uniformity"), torch.arange(200_000))
    assert p_value(numbers) > 1e-7
    assert p_value(numbers**1.05) < 1e-7  # the control: a slightly curved law is seen


def test_draws_of_one_trial_are_unrelated():
    # False-alarm rate 1e-7: the correlation of n pairs is normal with variance 1 / n.
    n = 100_000
    a, b = (uniforms(key("pair", draw), torch.arange(n)) for draw in range(2))
    correlation = float(torch.corrcoef(torch.stack([a, b]))[0, 1])
    assert abs(correlation) * math.sqrt(n) < 5.33
    shifted = float(torch.corrcoef(torch.stack([a[1:], a[:-1]]))[0, 1])
    assert abs(shifted) * math.sqrt(n) < 5.33


def test_generators_of_chunks_differ():
    device = torch.device("cpu")
    first = torch.rand(4, generator=generator_for(0, "a", 1, device=device))
    again = torch.rand(4, generator=generator_for(0, "a", 1, device=device))
    other = torch.rand(4, generator=generator_for(0, "a", 2, device=device))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
