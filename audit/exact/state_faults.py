"""State faults: decode loops whose rule is right and whose states are not, as exact laws.

A round drafts gamma tokens, keeps the first n of them and emits one more (after a rejection the
correction, else the bonus token). Before the next round each model's state has to hold exactly
what was emitted. A fault says what it holds instead: how many drafted tokens stay, and whether
the last emitted token is read. Rows depend on what the state holds, not on the text, so a wrong
state changes the law from the second token on, and only where rows depend on the prefix.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from audit.errors import UsageError

# (gamma, n) -> the number of drafted tokens that a state keeps, and whether it reads the last one.
Settle = Callable[[int, int], tuple[int, bool]]


def emitted(gamma: int, n: int) -> tuple[int, bool]:
    """Returns what was emitted: n drafted tokens and the last one."""
    return n, True


def keeps_rejected(gamma: int, n: int) -> tuple[int, bool]:
    """Returns a state that holds the rejected token in place of the correction."""
    return (n + 1, False) if n < gamma else (n, True)


def misses_correction(gamma: int, n: int) -> tuple[int, bool]:
    """Returns a state that has not read the token drawn after a rejection."""
    return n, n == gamma


def misses_bonus(gamma: int, n: int) -> tuple[int, bool]:
    """Returns a state that has not read the bonus token."""
    return n, n < gamma


def misses_accepted(gamma: int, n: int) -> tuple[int, bool]:
    """Returns a state that was rolled back by one accepted token too many."""
    return max(n - 1, 0), True


def keeps_all(gamma: int, n: int) -> tuple[int, bool]:
    """Returns a state that was not rolled back: all drafted tokens, then the last one."""
    return gamma, True


@dataclass(frozen=True)
class StateFault:
    """One way to keep states. page: its number in the list of state faults.

    recorded: the state from which q is recorded where that is not the one that drafts.
    lossless: the emitted law is the target's whatever the case; only fewer drafts are accepted.
    """

    id: str
    page: str
    meaning: str
    target: Settle = emitted
    draft: Settle = emitted
    recorded: Settle | None = None
    reseeded: bool = False
    lossless: bool = False


_LISTED = (
    StateFault("correct", "K00", "both states hold what was emitted", lossless=True),
    StateFault(
        "target-keeps-rejected", "K01",
        "the target's state keeps the rejected token instead of the correction",
        target=keeps_rejected,
    ),
    StateFault(
        "draft-keeps-rejected", "K02",
        "the draft's state keeps the rejected token, and q is recorded from that state",
        draft=keeps_rejected, lossless=True,
    ),
    StateFault(
        "draft-keeps-rejected-unrecorded", "K03",
        "the draft's state keeps the rejected token, but q is recorded from the emitted prefix",
        draft=keeps_rejected, recorded=emitted,
    ),
    StateFault(
        "target-misses-correction", "K04",
        "the target's state does not read the token drawn after a rejection",
        target=misses_correction,
    ),
    StateFault(
        "target-misses-bonus", "K05",
        "the target's state does not read the bonus token",
        target=misses_bonus,
    ),
    StateFault(
        "target-misses-accepted", "K06",
        "the target's state is rolled back by one accepted token too many",
        target=misses_accepted,
    ),
    StateFault(
        "draft-misses-bonus", "K07",
        "the draft's state does not read the bonus token, and q is recorded from that state",
        draft=misses_bonus, lossless=True,
    ),
    StateFault(
        "target-not-rolled-back", "K08",
        "the target's state keeps every drafted token before the correction",
        target=keeps_all,
    ),
    StateFault(
        "nothing-rolled-back", "K09",
        "both states keep every drafted token before the correction",
        target=keeps_all, draft=keeps_all,
    ),
    StateFault(
        "reseeded-each-round", "K10",
        "the random generator is seeded again in every round",
        reseeded=True,
    ),
)  # fmt: skip
STATE_FAULTS: Mapping[str, StateFault] = {fault.id: fault for fault in _LISTED}
CHANGING = tuple(fault.id for fault in _LISTED if not fault.lossless)  # the emitted law


def state_fault(id_: str) -> StateFault:
    """Returns the state fault of this id. Raises UsageError where there is none."""
    if id_ not in STATE_FAULTS:
        near = difflib.get_close_matches(id_, STATE_FAULTS)
        known = (
            f"did you mean {' or '.join(near)}?" if near else f"known: {', '.join(STATE_FAULTS)}."
        )
        raise UsageError(f"no state fault is named {id_!r}; {known}")
    return STATE_FAULTS[id_]
