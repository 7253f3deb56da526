"""The audit of one world: law, steps, stops, greedy text, limits and seeds, and its result."""

from __future__ import annotations

import numpy as np

from audit.counts import Table, tokens_of
from audit.samplers.decoders.interface import LoadedDecoder
from audit.state import checks
from audit.state.judging import Findings, findings, uncertified
from audit.state.law import LawWatch, StateBudget, sequences_needed
from audit.state.record import StateOutcome, WorldResult
from audit.state.running import calls
from audit.state.settings import StateSettings
from audit.state.watching import watch_steps
from audit.state.worlds import World
from audit.statistics.certificate import looks

_MOST_STOPPED = 1_000
_SHOWN = 20


def audit_world(
    decoder: LoadedDecoder, world: World, budget: StateBudget, settings: StateSettings
) -> tuple[WorldResult, LawWatch]:
    """Returns the result of one world, and the sequences behind it.

    Raises: SamplerError where the decoder raises or breaks its contract.
    """
    seed = settings.seed
    checks.keep_limits(decoder, world, seed)
    watch = follow_law(decoder, world, budget, settings)
    law, steps = watch.reading(), watch_steps(decoder, world, settings.watched, seed=seed)
    few = min(law.sequences, _MOST_STOPPED)
    stopping, greedy = (name in decoder.options for name in ("stop_token_id", "greedy"))
    stops = checks.stops(decoder, world, few, seed=seed) if stopping else None
    text = checks.greedy(decoder, world) if greedy else None
    repeatable = checks.repeatable(decoder, world, seed)
    needed = sequences_needed(world, budget)
    found = findings(
        law=watch.failures(),
        dependent=watch.dependent(),
        steps=steps,
        greedy=text,
        stops=stops,
        repeatable=repeatable,
        budget=budget,
    )
    exempt = steps.readable and not world.faults
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
        law_failed=bool(watch.failures()) and not found.dependent,
        steps=steps,
        greedy=text,
        stops=stops,
        repeatable=repeatable,
        counts=_shown(world, watch.counts),
    )
    return result, watch


def follow_law(
    decoder: LoadedDecoder, world: World, budget: StateBudget, settings: StateSettings
) -> LawWatch:
    """Returns the joint law after as many sequences as a conclusion took."""
    watch, done = LawWatch(world, budget), 0
    for number, look in enumerate(looks(settings.sequences)):
        purpose = f"law {number}"
        watch.update([*calls(decoder, world, look - done, seed=settings.seed, purpose=purpose)])
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
