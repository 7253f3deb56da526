"""What a run may be told, the tiers, and the bounds of every setting."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields

import torch

from audit.errors import UsageError
from audit.statistics.certificate import looks


@dataclass(frozen=True)
class Tier:
    """How much a run may cost and what it certifies: trials a case, and epsilon."""

    cap: int
    epsilon: float


TIERS: Mapping[str, Tier] = {
    "smoke": Tier(20_000, 0.05),
    "ci": Tier(200_000, 0.02),
    "audit": Tier(2_000_000, 0.005),
    "deep": Tier(20_000_000, 0.002),
}
MOST_TRIALS = 10**12  # above this the logarithms of factorials are too coarse for the statistics
SAMPLED = 0.9  # of alpha and delta, where the law of the code is judged as well
METHODS = ("sampled", "steered", "both")
DTYPES: Mapping[str, torch.dtype] = {
    "float32": torch.float32,
    "float64": torch.float64,
    "bfloat16": torch.bfloat16,
}


@dataclass(frozen=True)
class Settings:
    """What a run may be told; None takes the tier's value.

    samples: fixed-n mode, this many trials a case and one look. limit: stop there, no verdict.
    time_limit: seconds for the whole run. timeout: seconds for one call of a worker process.
    declares: rules that the sampler follows. python: the interpreter of the worker process.
    small_batches: calls of 1, 2, 3, 8 and 64 rows alone, which share the rows evenly. method: judge
    by sampled rounds, by the law that is read off the code, or by both; None for `usual_method`.
    """

    seed: int = 0
    device: str = "auto"
    dtype: str = "float32"
    batch_size: int | None = None
    small_batches: bool = False
    tier: str = "ci"
    samples: int | None = None
    epsilon: float | None = None
    alpha: float = 1e-6
    delta: float = 1e-3
    accept_within: float | None = None
    time_limit: float | None = None
    timeout: float = 60.0
    limit: int | None = None
    declares: tuple[str, ...] = ()
    in_process: bool = False
    python: str | None = None
    method: str | None = None

    @property
    def usual_method(self) -> str:
        """Both, unless the run is to be short or of a fixed size: then sampled rounds alone."""
        return "sampled" if self.tier == "smoke" or self.samples or self.limit else "both"

    @property
    def sampled_share(self) -> float:
        """The share of alpha and delta that sampled rounds have."""
        return SAMPLED if self.method == "both" else 1.0

    @property
    def law_delta(self) -> float:
        """How often the bound of some law that is read off the code may be wrong."""
        return self.delta * (1 - SAMPLED if self.method == "both" else 1.0)

    @property
    def cap(self) -> int:
        """Trials a case at most."""
        wanted = self.samples or TIERS[self.tier].cap
        return min(wanted, self.limit or wanted)

    @property
    def fixed(self) -> bool:
        """Whether the number of trials is fixed, so that only the last look decides."""
        return self.samples is not None

    @property
    def certify(self) -> float:
        """The TV to certify."""
        return TIERS[self.tier].epsilon if self.epsilon is None else self.epsilon

    @property
    def torch_device(self) -> torch.device:
        """The device, with "auto" looked up."""
        found = "cuda" if torch.cuda.is_available() else "cpu"
        return torch.device(found if self.device == "auto" else self.device)

    @property
    def torch_dtype(self) -> torch.dtype:
        """The dtype of the rows that are handed over."""
        return DTYPES[self.dtype]

    @property
    def looks(self) -> list[int]:
        """The declared numbers of trials; in fixed-n mode only the last decides."""
        return looks(self.cap)


DEFAULTS = Settings()


def options_of(settings: Settings) -> list[str]:
    """Returns the command-line options that give these settings.

    >>> options_of(Settings(tier="smoke", declares=("ratio", "block"), in_process=True))
    ['--tier', 'smoke', '--declares', 'ratio', '--declares', 'block', '--in-process']
    """
    options: list[str] = []
    for item in fields(Settings):
        value, name = getattr(settings, item.name), "--" + item.name.replace("_", "-")
        usual = settings.usual_method if name == "--method" else item.default
        if value in (item.default, usual):
            continue
        values = value if isinstance(value, tuple) else (value,)
        for one in values:
            options += [name] if one is True else [name, str(one)]
    return options


def check(settings: Settings) -> None:
    """Raises UsageError for the first setting out of its bounds."""
    known: Mapping[str, Collection[str | None]] = {
        "tier": TIERS,
        "dtype": DTYPES,
        "device": ("auto", "cpu", "cuda"),
        "method": (*METHODS, None),
    }
    for name, choices in known.items():
        value = getattr(settings, name)
        if value not in choices and not (name == "device" and str(value).startswith("cuda:")):
            offered = ", ".join(choice for choice in choices if choice)
            raise UsageError(f"{name} = {value!r} is not one of {offered}.")
    for name in ("alpha", "delta", "epsilon", "accept_within"):
        value = getattr(settings, name)
        if value is not None and not 0 < value < 1:
            raise UsageError(f"{name} = {value!r} is not between 0 and 1, both excluded.")
    for name in ("time_limit", "timeout"):
        value = getattr(settings, name)
        if value is not None and not 0 < value < math.inf:
            raise UsageError(f"{name} = {value!r} is not a positive number of seconds.")
    for name in ("samples", "limit", "batch_size"):
        value = getattr(settings, name)
        if value is not None and not (type(value) is int and 0 < value <= MOST_TRIALS):
            raise UsageError(f"{name} = {value!r} is not a whole number from 1 to {MOST_TRIALS:,}.")
    if settings.method == "steered" and (settings.samples or settings.limit):
        raise UsageError(
            "samples and limit are about sampled rounds, and method = 'steered' makes none; leave "
            "them out, or take 'both'."
        )
    if type(settings.seed) is not int:
        raise UsageError(f"seed = {settings.seed!r} is not a whole number.")
    if type(settings.declares) is not tuple:
        raise UsageError(f"declares = {settings.declares!r} is not a tuple of rule ids.")
    if settings.device.startswith("cuda") and not torch.cuda.is_available():
        raise UsageError(
            f"device = {settings.device!r}: torch finds no GPU here; take cpu or auto."
        )
