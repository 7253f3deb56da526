"""One state audit: a decode loop in several worlds, and what follows from all of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict

from audit import __version__
from audit.case import Case
from audit.errors import UsageError
from audit.exact.state_faults import STATE_FAULTS
from audit.samplers.decoders.interface import Decoder, LoadedDecoder
from audit.samplers.decoders.loading import load_decoder, wrap_decoder
from audit.selection import select_cases
from audit.state.judging import SLOW, enough
from audit.state.law import StateBudget
from audit.state.naming import StateSuspects, suspects
from audit.state.one_world import audit_world
from audit.state.record import EXIT_CODES, StateOutcome, StateRecord, WorldResult
from audit.state.settings import StateSettings
from audit.state.vocabulary import VocabularyMatch
from audit.state.worlds import World, table_world, tiny_world

DEFAULT_CASES = ("basis-1", "basis-2", "prefix-dependent-2", "block-basis")
_ORDER = list(StateOutcome)
_CHANGING = tuple(fault.id for fault in STATE_FAULTS.values() if not fault.lossless)


def audit_state(
    decoder: str | Decoder,
    cases: Sequence[str | Case] = DEFAULT_CASES,
    *,
    settings: StateSettings | None = None,
    vocabulary: VocabularyMatch | None = None,
    command: str = "",
    progress: Callable[[str], None] = lambda _: None,
) -> StateRecord:
    """Returns the record of a state audit; progress is told in which world it is.

    cases: as `select_cases` takes them, or cases themselves.

    Raises:
        UsageError: nothing has this name, or a case does not fit.
        SamplerError: the decoder raised or broke its contract.
    """
    start, settings = time.monotonic(), settings or StateSettings()
    loaded = load_decoder(decoder) if isinstance(decoder, str) else wrap_decoder(decoder)
    worlds = _worlds(loaded, cases, settings)
    if not worlds:
        raise UsageError("no world is selected for a state audit; name a case or an architecture.")
    budget = StateBudget(settings.alpha, settings.delta, settings.epsilon, len(worlds))
    results, seen = [], []
    for world in worlds:
        progress(world.id)
        result, watch = audit_world(loaded, world, budget, settings)
        results.append(result)
        seen.append((world, watch.counts))
    named = suspects(seen) if any(result.law_failed for result in results) else None
    unseen = _not_excluded(worlds, budget.epsilon)
    outcome, sentence = _concluded(results, unseen, named, vocabulary, budget)
    return StateRecord(
        draftproof=__version__,
        command=command,
        decoder=loaded.name,
        facts=asdict(loaded.facts),
        options=tuple(sorted(loaded.options)),
        identity=dict(loaded.identity),
        settings=settings,
        outcome=outcome,
        sentence=sentence,
        worlds=tuple(results),
        suspects=named,
        vocabulary=vocabulary,
        not_excluded=unseen,
        seconds=round(time.monotonic() - start, 1),
        exit_code=EXIT_CODES[outcome],
    )


def _worlds(
    decoder: LoadedDecoder, cases: Sequence[str | Case], settings: StateSettings
) -> list[World]:
    tables = [
        table_world(case, decoder, length=settings.tokens, prompt=settings.prompt)
        for chosen in cases
        for case in ([chosen] if isinstance(chosen, Case) else select_cases([chosen]))
    ]
    if settings.architectures and decoder.facts.models != "transformers":
        raise UsageError(
            f"{decoder.name} takes models as {decoder.facts.models!r}; --architecture is for "
            "decoders of transformers' models."
        )
    return tables + [tiny_world(one, seed=settings.seed) for one in settings.architectures]


def _not_excluded(worlds: Sequence[World], epsilon: float) -> tuple[str, ...]:
    """Returns the faults that change the law, but by at most epsilon in every table world."""
    return tuple(
        name
        for name in _CHANGING
        if all(world.distance(name) <= epsilon for world in worlds if world.faults)
    )


def _concluded(
    results: Sequence[WorldResult],
    unseen: Sequence[str],
    named: StateSuspects | None,
    vocabulary: VocabularyMatch | None,
    budget: StateBudget,
) -> tuple[StateOutcome, str]:
    """Returns the outcome of the run, that of its worst world, and the sentence to read first."""
    worst = min(results, key=lambda result: _ORDER.index(result.outcome))
    if worst.outcome in (StateOutcome.BROKEN, StateOutcome.DEPENDENT):
        return worst.outcome, f"{worst.id}: {worst.reasons[0]}{_name(named)}"
    if vocabulary is not None and not vocabulary.same:
        return StateOutcome.BROKEN, mismatch(vocabulary)
    if len(unseen) == len(_CHANGING) and not any(r.steps.control is not None for r in results):
        return StateOutcome.NOT_TESTABLE, (
            f"no selected case shows any state fault above epsilon = {budget.epsilon:g}; select "
            "one whose rows depend on the last two tokens"
        )
    if worst.outcome is StateOutcome.UNDECIDED:
        return worst.outcome, f"{worst.id}: {worst.reasons[0]}"
    few = enough(
        sum(result.steps.rejections for result in results),
        sum(result.steps.full_acceptances for result in results),
        max(result.law.distinct for result in results),
    )
    return (StateOutcome.UNDECIDED, few) if few else (worst.outcome, _consistent(results, budget))


def mismatch(vocabulary: VocabularyMatch) -> str:
    """Returns how two vocabularies differ, in a sentence."""
    return (
        f"draft and target do not mean the same tokens by {vocabulary.different} ids: "
        f"{vocabulary.differing[0]}"
    )


def _name(named: StateSuspects | None) -> str:
    if named is None:
        return ""
    if not named.names:
        return "; it is consistent with no listed state fault"
    return f"; consistent with {' = '.join(named.names)}: {named.meaning}"


def _consistent(results: Sequence[WorldResult], budget: StateBudget) -> str:
    """Returns what was shown where nothing failed."""
    certified = [r for r in results if (r.law.certified or 1.0) <= budget.epsilon]
    compared = sum(result.steps.compared[0] for result in results)
    parts = [f"{compared} laws of the target are those of a fresh forward of the emitted text"]
    if certified:
        lengths = {result.tokens for result in certified}
        parts.insert(
            0,
            f"TV of {min(lengths)} tokens over several rounds <= {budget.epsilon:g} with "
            f"confidence {1 - budget.delta:g} in {len(certified)} worlds",
        )
    if any(note.endswith(SLOW) for result in results for note in result.notes):
        parts.append(f"the draft's state departs from the text, and {SLOW}")
    return "; ".join(parts)
