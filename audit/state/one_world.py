"""The audit of one world: law, steps, stops, greedy text, limits and seeds, and its result."""

from __future__ import annotations

from itertools import islice
from typing import NamedTuple

import numpy as np

from audit.counts import Table, tokens_of
from audit.samplers.decoders.interface import LoadedDecoder
from audit.state import checks
from audit.state.judging import Findings, findings, uncertified
from audit.state.law import LawWatch, StateBudget, sequences_needed
from audit.state.positions import Positions, positions
from audit.state.record import StateOutcome, WorldResult
from audit.state.reported import Reported, reported
from audit.state.running import calls
from audit.state.settings import StateSettings
from audit.state.watching import StepReading, watch_steps
from audit.state.world import World
from audit.statistics.certificate import looks

_MOST_STOPPED = 400
_CALLS = 2  # of a part: bets are learned from the parts before, independence from pairs of calls
_SHOWN = 20


def audit_world(
    decoder: LoadedDecoder, world: World, budget: StateBudget, settings: StateSettings
) -> tuple[WorldResult, LawWatch]:
    """Returns the result of one world, and the sequences behind it.

    Raises: SamplerError where the decoder raises or breaks its contract.
    """
    checks.keep_limits(decoder, world, settings.seed)
    watch = follow_law(decoder, world, budget, settings)
    law, seen = watch.reading(), _seen(decoder, world, watch, settings)
    failures, dependent = watch.failures(), watch.dependent()
    needed = sequences_needed(world, budget)
    found = findings(law=failures, dependent=dependent, budget=budget, **seen._asdict())
    exempt = seen.steps.readable and world.plain is not None
    outcome, reasons = _concluded(found, uncertified(law, budget, needed=needed, exempt=exempt))
    result = WorldResult(
        id=world.id,
        vocab_size=world.vocab_size,
        num_speculative_tokens=world.gamma,
        tokens=world.length,
        prompt=world.prompt,
        outcome=outcome,
        reasons=reasons,
        notes=found.notes,
        sequences_needed=needed,
        law=law,
        law_failed=bool(failures) and not dependent,
        counts=_shown(world, watch.counts),
        **seen._asdict(),
    )
    return result, watch


class _Seen(NamedTuple):
    """What was looked at besides the law, under the names of the record."""

    steps: StepReading
    greedy: checks.Greedy | None
    stops: checks.Stops | None
    rules: tuple[Positions, ...]
    reported: Reported | None
    repeatable: bool


def _seen(decoder: LoadedDecoder, world: World, watch: LawWatch, settings: StateSettings) -> _Seen:
    """Returns what the decoder's options allow to look at; rules and reports of sound states alone.

    A state that is wrong may leave a text without a next token under a grammar.
    """
    offers, seed = decoder.options, settings.seed
    steps = watch_steps(decoder, world, settings.watched, seed=seed)
    few = min(-(-int(watch.counts.sum()) // 2), _MOST_STOPPED)
    sound = not watch.failures() and not any(steps.departing)
    return _Seen(
        steps=steps,
        greedy=checks.greedy(decoder, world) if "greedy" in offers else None,
        stops=checks.stops(decoder, world, few, seed=seed) if "stop_token_id" in offers else None,
        rules=positions(decoder, world, settings.watched, seed=seed) if sound else (),
        reported=reported(decoder, world, seed=seed) if sound and "logprobs" in offers else None,
        repeatable=checks.repeatable(decoder, world, seed),
    )


def follow_law(
    decoder: LoadedDecoder, world: World, budget: StateBudget, settings: StateSettings
) -> LawWatch:
    """Returns the joint law after as many sequences as a conclusion took."""
    watch, done = LawWatch(world, budget), 0
    for number, look in enumerate(looks(settings.sequences)):
        purpose = f"law {number}"
        drawn = calls(decoder, world, look - done, seed=settings.seed, purpose=purpose)
        while part := [*islice(drawn, _CALLS)]:
            watch.update(part)
        watch.look()
        done = look
        certified = watch.certified is not None and watch.certified <= budget.epsilon
        if certified or watch.failures() or watch.dependent():
            break
    return watch


def _concluded(found: Findings, undecided: str) -> tuple[StateOutcome, tuple[str, ...]]:
    """Returns the outcome of a world and the sentences behind it."""
    if found.dependent:
        return StateOutcome.DEPENDENT, (found.dependent,)
    if found.broken:
        return StateOutcome.BROKEN, found.broken
    if undecided:
        return StateOutcome.UNDECIDED, (undecided,)
    return StateOutcome.CONSISTENT, ()


def _shown(world: World, counts: Table) -> dict[str, int]:
    """Returns the most frequent sequences, ids joined by spaces, and "rest"."""
    order = np.argsort(-counts, kind="stable")[:_SHOWN]
    shown = {
        " ".join(map(str, tokens_of(code, base=world.vocab_size, length=world.length))): int(
            counts[code]
        )
        for code in order.tolist()
        if counts[code]
    }
    return {**shown, "rest": int(counts.sum()) - sum(shown.values())}
