"""Process groups, as the kernel shows them."""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path


def exists(group: int) -> bool:
    """Returns whether a process of the group runs; the dead that nobody reaped do not."""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it ended while we looked
            state, _, own_group = stat.read_text().rpartition(")")[2].split()[:3]
            if int(own_group) == group and state != "Z":
                return True
    return False


def gone(group: int, seconds: float = 10.0) -> bool:
    """Returns whether the group ends in time."""
    until = time.monotonic() + seconds
    while exists(group) and time.monotonic() < until:
        time.sleep(0.02)
    return not exists(group)
