"""Tiers, caps and looks."""

from dataclasses import replace

import pytest
import torch

from audit.errors import UsageError
from audit.settings import DEFAULTS, TIERS, Settings, check


def test_tiers_are_those_of_the_design():
    assert {name: (tier.cap, tier.epsilon) for name, tier in TIERS.items()} == {
        "smoke": (20_000, 0.05),
        "ci": (200_000, 0.02),
        "audit": (2_000_000, 0.005),
        "deep": (20_000_000, 0.002),
    }
    assert DEFAULTS.tier == "ci"


def test_samples_and_limit_replace_the_cap():
    assert Settings().cap == 200_000
    assert Settings(samples=5000).cap == 5000
    assert Settings(samples=5000).fixed
    assert Settings(limit=100).cap == 100
    assert not Settings(limit=100).fixed


def test_epsilon_overrides_the_tier():
    assert Settings(tier="deep").certify == 0.002
    assert Settings(tier="deep", epsilon=0.1).certify == 0.1


def test_devices_and_dtypes_become_those_of_torch():
    assert Settings(device="cpu").torch_device == torch.device("cpu")
    assert Settings(dtype="bfloat16").torch_dtype is torch.bfloat16


@pytest.mark.parametrize("name", ["samples", "limit", "batch_size"])
@pytest.mark.parametrize("value", [0, -1, True, 1.5, 10**12 + 1, 10**30])
def test_whole_numbers_have_bounds(name: str, value: object):
    check(replace(DEFAULTS, **{name: 10**12}))
    with pytest.raises(UsageError, match=f"{name} = .* is not a whole number from 1 to 1,000,000,"):
        check(replace(DEFAULTS, **{name: value}))


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_missing_gpu_is_said():
    with pytest.raises(UsageError, match="no GPU"):
        check(replace(DEFAULTS, device="cuda"))
