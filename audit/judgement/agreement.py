"""Whether sampled rounds may come from the law that was read off the code.

Three kinds of events are compared: which block is emitted, its first token, its length. The number
of rounds with an event is binomial, and its probability is known up to h from the law that was read
off; the exact tails on both sides are adjusted by Bonferroni over all events. That holds at every
number n of rounds at once, n taking 1 / (n (n + 1)) of the level, so that a run may stop anywhere.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from audit.statistics.binomial import upper_tail
from audit.steered import Agreement, CodeLaw, SteeredEvidence

Outcomes = Mapping[tuple[int, ...], int]


def agreement(
    outcomes: Outcomes, law: CodeLaw, evidence: SteeredEvidence, *, level: float
) -> Agreement:
    """Returns the event that departs most from the law that was read off.

    outcomes: how often each block was emitted. level: the chance that code of that law is accused.
    """
    n = sum(outcomes.values())
    seen = _by_event((" ".join(map(str, block)), times) for block, times in outcomes.items())
    known = _by_event(law.emitted.items())
    open_ = evidence.generators + evidence.reach(level / 2)
    events = sorted(seen.keys() | known.keys())
    tails = {one: _tail(int(seen[one]), n, known[one], open_) for one in events}
    event = min(events, key=tails.__getitem__)
    adjusted = min(1.0, 2 * len(events) * n * (n + 1) * tails[event])
    return Agreement(n, event, int(seen[event]), n * known[event], adjusted, level / 2)


def _tail(times: int, n: int, chance: float, open_: float) -> float:
    """Returns the smaller tail of a binomial whose probability is within `open_` of a chance."""
    return min(
        upper_tail(times, n, min(1.0, chance + open_)),
        upper_tail(n - times, n, min(1.0, 1 - chance + open_)),
    )


def _by_event(masses: Iterable[tuple[str, float]]) -> Mapping[str, float]:
    """Returns the sum of all masses of every event."""
    found: dict[str, float] = defaultdict(float)
    for block, mass in masses:
        ids = block.split()
        first = f"first token {ids[0]}" if ids else "no token"
        for event in (f"block {block}", first, f"{len(ids)} tokens"):
            found[event] += mass
    return found
