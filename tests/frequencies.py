"""How statistical tests judge a frequency: exactly, at their own false-alarm rate of 1e-6."""

from __future__ import annotations

from scipy.stats import binom

FALSE_ALARM = 1e-6


def at_most(hits: int, runs: int, *, rate: float) -> bool:
    """Returns whether `hits` in `runs` are consistent with a probability of at most `rate`."""
    return bool(binom.sf(hits - 1, runs, rate) > FALSE_ALARM)
