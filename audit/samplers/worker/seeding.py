"""The generators of a call: the one that is handed over, and the global ones of the process."""

from __future__ import annotations

import pickle
import random

import numpy as np
import torch


def seeded(seed: int, device: str) -> torch.Generator:
    """Returns a generator from the seed; the global ones are seeded too, each on its own."""
    source = random.Random(seed)
    random.seed(source.getrandbits(63))
    np.random.seed(source.getrandbits(32))
    torch.default_generator.manual_seed(source.getrandbits(63))  # torch.manual_seed is 80 us
    if device.startswith("cuda"):
        torch.cuda.manual_seed_all(source.getrandbits(63))
    return torch.Generator(device).manual_seed(source.getrandbits(63))


def global_states(device: str) -> dict[str, bytes]:
    """Returns the states of the global generators, by whose they are."""
    torch_states = [torch.default_generator.get_state().numpy().tobytes()]
    if device.startswith("cuda"):
        torch_states += [state.numpy().tobytes() for state in torch.cuda.get_rng_state_all()]
    return {
        "torch": b"".join(torch_states),
        "numpy": pickle.dumps(np.random.get_state()),
        "Python": pickle.dumps(random.getstate()),
    }
