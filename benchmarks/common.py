"""What the benchmark scripts share: their options, and many runs of one sampler."""

from __future__ import annotations

import argparse
import os

from audit.simulation.runs import campaign, spread

__all__ = ["arguments", "campaign", "spread"]


def arguments(description: str, *, runs: int) -> argparse.Namespace:
    """Returns the common options: how many runs, on how many processes, from which seed."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--runs", type=int, default=runs)
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.add_argument("--first-seed", type=int, default=1)
    return parser.parse_args()
