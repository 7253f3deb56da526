"""The tool's own false alarms, wrong certificates and stopping times, measured by its own code.

A rate is consistent with its nominal level unless so many hits or more have a chance below 1e-6
at that level; the levels bound the rates from above, and most tests stay well below them.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from audit import __version__
from audit.exact.aliases import Pair, alias_classes, separations
from audit.exact.matrix import fault_matrix
from audit.selection import select_cases
from audit.simulation.alarms import LEVELS, TESTS, Alarms, alarms
from audit.simulation.certificates import DELTAS, certified
from audit.simulation.detection import Detection, detection
from audit.simulation.runs import workers
from audit.statistics.binomial import lower_limit, upper_limit, upper_tail

CASES = ("small", "trees")
FALSE_ALARM = 1e-6
_INTERVAL = 1e-3  # chance that an interval misses the true rate
_NEAREST = 10
_SEEDS = 10**6


@dataclass(frozen=True)
class Size:
    """How much is simulated."""

    runs: int
    trials: int
    samplers: int
    stops: int


FULL = Size(runs=2000, trials=1000, samplers=4000, stops=15)
QUICK = Size(runs=40, trials=1000, samplers=400, stops=1)


@dataclass(frozen=True)
class Rate:
    """How often something happened that may happen at a nominal level; a 99.9 % interval."""

    name: str
    nominal: float
    hits: int
    runs: int
    low: float
    high: float
    consistent: bool

    @classmethod
    def of(cls, name: str, nominal: float, found: Sequence[bool]) -> Rate:
        """Returns the rate with its exact interval and test."""
        hits, runs = sum(found), len(found)
        return cls(
            name=name,
            nominal=nominal,
            hits=hits,
            runs=runs,
            low=lower_limit(hits, runs, _INTERVAL / 2),
            high=upper_limit(hits, runs, _INTERVAL / 2),
            consistent=upper_tail(hits, runs, nominal) > FALSE_ALARM,
        )


@dataclass(frozen=True)
class SelfTest:
    """Everything that was measured.

    trials: rounds of each campaign of the reference. alarms: its false alarms. certificates:
    wrong ones. detections: a line a fault that some shipped case shows; unseen: the others.
    aliases: entries of one law. nearest: the pairs that are hardest to tell apart.
    """

    version: str
    quick: bool
    seed: int
    processes: int
    seconds: float
    trials: int
    alarms: tuple[Rate, ...]
    certificates: tuple[Rate, ...]
    detections: tuple[Detection, ...]
    unseen: tuple[str, ...]
    aliases: tuple[tuple[str, ...], ...]
    nearest: tuple[Pair, ...]

    @property
    def inconsistent(self) -> tuple[str, ...]:
        """What contradicts the tool's promises, in words."""
        rates = [
            f"{rate.name} at {rate.nominal:g}: {rate.hits} of {rate.runs}"
            for rate in (*self.alarms, *self.certificates)
            if not rate.consistent
        ]
        missed = [f"{d.fault} missed in {d.missed} of {d.runs} runs" for d in self.detections]
        return (*rates, *(m for m, d in zip(missed, self.detections, strict=True) if d.missed))


def run_selftest(
    size: Size = FULL,
    *,
    seed: int = 0,
    cases: Sequence[str] = CASES,
    progress: Callable[[str], None] = lambda _: None,
) -> SelfTest:
    """Returns what the tool's own code shows of itself on these cases; a small one shows little.

    progress is told what is waited for.
    """
    start = time.monotonic()
    processes = min(2, os.cpu_count() or 1)
    seeds = range(seed * _SEEDS + 1, (seed + 1) * _SEEDS)
    with workers(processes) as pool:
        made = pool.map(partial(alarms, trials=size.trials), seeds[: size.runs], chunksize=8)
        wrong = [
            pool.map(partial(certified, delta=delta), seeds[: size.samplers], chunksize=100)
            for delta in DELTAS
        ]
        progress("laws of the catalogue")
        laws = _laws(cases)
        find = partial(detection, runs=size.stops, seed=seed)
        stops = pool.map(find, laws.seen, chunksize=4)
        progress(f"{size.runs:,} runs of the reference")
        alarm_rates = _alarm_rates(list(made))
        progress(f"{size.samplers:,} samplers that must not be certified")
        pairs = zip(DELTAS, wrong, strict=True)
        certificates = tuple(Rate.of("wrong certificate", d, list(found)) for d, found in pairs)
        progress(f"{size.stops} runs of each of {len(laws.seen)} faults")
        detections = tuple(stops)
    return SelfTest(
        version=__version__,
        quick=size is not FULL,
        seed=seed,
        processes=processes,
        seconds=round(time.monotonic() - start, 1),
        trials=size.trials,
        alarms=alarm_rates,
        certificates=certificates,
        detections=detections,
        unseen=laws.unseen,
        aliases=laws.aliases,
        nearest=laws.nearest,
    )


@dataclass(frozen=True)
class _Laws:
    """What follows from exact laws: (fault, its best case), faults without one, aliases, pairs."""

    seen: tuple[tuple[str, str], ...]
    unseen: tuple[str, ...]
    aliases: tuple[tuple[str, ...], ...]
    nearest: tuple[Pair, ...]


def _laws(selection: Sequence[str]) -> _Laws:
    cases = select_cases(selection)
    matrix = fault_matrix(cases)
    best = [matrix.best(fault) for fault in matrix.biased]
    apart = [pair for pair in separations(cases) if pair.joint > 0]
    return _Laws(
        seen=tuple((c.rule, c.case) for c in best if not (c.blind or c.undefined)),
        unseen=tuple(c.rule for c in best if c.blind or c.undefined),
        aliases=alias_classes(cases),
        nearest=tuple(apart[:_NEAREST]),
    )


def _alarm_rates(made: Sequence[Alarms]) -> tuple[Rate, ...]:
    return tuple(
        Rate.of(test, level, [found[test, level] for found in made])
        for test in TESTS
        for level in LEVELS
    )
