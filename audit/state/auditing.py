"""One state audit: a decode loop in several worlds, and what follows from all of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

from audit import __version__
from audit.case import Case
from audit.errors import CaseError, UsageError
from audit.exact.state_faults import CHANGING
from audit.plural import counted
from audit.samplers.decoders.interface import REAL, Decoder, LoadedDecoder
from audit.samplers.decoders.loading import load_decoder, with_options, wrap_decoder
from audit.samplers.decoders.rules import RULES, Rules
from audit.selection import select_cases
from audit.state.judging import SLOW, enough
from audit.state.law import StateBudget
from audit.state.naming import StateSuspects, suspects
from audit.state.one_world import audit_world
from audit.state.record import EXIT_CODES, StateOutcome, StateRecord, WorldResult
from audit.state.settings import StateSettings
from audit.state.vocabulary import VocabularyMatch
from audit.state.world import World, with_rules
from audit.state.worlds import table_world, tiny_world

DEFAULT_CASES = ("basis-1", "basis-2", "prefix-dependent-2", "block-basis")
_ORDER = list(StateOutcome)


def audit_state(
    decoder: str | Decoder,
    cases: Sequence[str | Case] | None = None,
    *,
    settings: StateSettings | None = None,
    vocabulary: VocabularyMatch | None = None,
    command: str = "",
    progress: Callable[[str], None] = lambda _: None,
    around: Callable[[LoadedDecoder], LoadedDecoder] = lambda loaded: loaded,
) -> StateRecord:
    """Returns the record of a state audit; progress is told in which world it is.

    cases: as `select_cases` takes them, or cases themselves; by default DEFAULT_CASES, none for
    real models. around: what is put around the calls of the decoder.

    Raises:
        UsageError: nothing has this name, or a case does not fit.
        SamplerError: the decoder raised or broke its contract.
    """
    start, settings = time.monotonic(), settings or StateSettings()
    loaded = around(_loaded(decoder, settings))
    worlds = _worlds(loaded, cases, settings)
    if not worlds:
        raise UsageError("no world is selected for a state audit; name a case or an architecture.")
    budget = StateBudget(settings.alpha, settings.delta, settings.epsilon, len(worlds))
    results, named = _audited(loaded, worlds, budget, settings, progress)
    unseen = _not_excluded(worlds, budget.epsilon)
    outcome, sentence = _concluded(worlds, results, named, vocabulary, budget)
    return StateRecord(
        draftproof=__version__,
        command=command,
        decoder=loaded.name,
        facts={**asdict(loaded.facts), "rules": list(loaded.facts.rules)},
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


def _audited(
    decoder: LoadedDecoder,
    worlds: Sequence[World],
    budget: StateBudget,
    settings: StateSettings,
    progress: Callable[[str], None],
) -> tuple[list[WorldResult], StateSuspects | None]:
    """Returns the result of every world, and the fault that they name after a failed law."""
    results, seen = [], []
    for world in worlds:
        progress(world.id)
        result, watch = audit_world(decoder, world, budget, settings)
        results.append(result)
        seen.append((world, watch.counts))
    return results, suspects(seen) if any(result.law_failed for result in results) else None


def _loaded(decoder: str | Decoder, settings: StateSettings) -> LoadedDecoder:
    """Returns the decoder, which must apply the sampling rules that are asked for."""
    if isinstance(decoder, str):
        loaded = load_decoder(decoder, settings.arguments)
    else:
        loaded = with_options(wrap_decoder(decoder), settings.arguments)
    for name in settings.options:
        if name in RULES and name not in loaded.facts.rules:
            raise UsageError(
                f"{loaded.name} does not say that it applies {name}; list it in its "
                'draftproof["rules"], and take the argument `rules`.'
            )
    return loaded


def _worlds(
    decoder: LoadedDecoder, cases: Sequence[str | Case] | None, settings: StateSettings
) -> list[World]:
    form, shape = decoder.facts.models, {"length": settings.tokens, "prompt": settings.prompt}
    if cases is None:
        cases = () if form in REAL else DEFAULT_CASES
    if settings.architectures and form not in ("transformers", *REAL):
        raise UsageError(
            f"{decoder.name} takes models as {form!r}; --architecture is for decoders of "
            "transformers' models."
        )
    worlds = [
        _table_world(case, decoder, **shape)
        for chosen in cases
        for case in ([chosen] if isinstance(chosen, Case) else select_cases([chosen]))
    ]
    for name in settings.architectures:
        worlds.append(tiny_world(name, form=form, seed=settings.seed, **shape))  # type: ignore[arg-type]
    return [_ruled(world, settings.rules) for world in worlds]


def _table_world(case: Case, decoder: LoadedDecoder, **shape: Any) -> World:
    """Returns the world of a case, whose rows must reach further here than in one round."""
    try:
        return table_world(case, decoder, **shape)
    except CaseError as error:
        raise CaseError(f'case "{case.id}" over several rounds: {error}') from None


def _ruled(world: World, rules: Rules) -> World:
    ruled = with_rules(world, rules)
    if ruled is None:
        raise UsageError(
            f"the sampling rules leave a text of {world.id} without a next token; select another "
            "case."
        )
    return ruled


def _not_excluded(worlds: Sequence[World], epsilon: float) -> tuple[str, ...]:
    """Returns the faults that change the law, but by at most epsilon in every table world."""
    known = [world for world in worlds if world.faults]
    return tuple(
        name for name in CHANGING if all(world.distance(name) <= epsilon for world in known)
    )


def _shows_states(world: World, epsilon: float) -> bool:
    """Returns whether a wrong state would be seen: by a fault's law, or by any dependence."""
    if world.faults:
        return len(_not_excluded([world], epsilon)) < len(CHANGING)
    return world.memory() > epsilon


def _concluded(
    worlds: Sequence[World],
    results: Sequence[WorldResult],
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
    if not any(_shows_states(world, budget.epsilon) for world in worlds):
        return StateOutcome.NOT_TESTABLE, (
            f"no selected case shows any state fault above epsilon = {budget.epsilon:g}; select "
            "one whose rows depend on the last two tokens"
        )
    if worst.outcome is StateOutcome.UNDECIDED:
        return worst.outcome, f"{worst.id}: {worst.reasons[0]}"
    most = max((result.law for result in results), key=lambda law: law.distinct)
    few = enough(
        sum(result.steps.rejections for result in results),
        sum(result.steps.full_acceptances for result in results),
        most.distinct,
        possible=most.possible,
    )
    return (StateOutcome.UNDECIDED, few) if few else (worst.outcome, _consistent(results, budget))


def mismatch(vocabulary: VocabularyMatch) -> str:
    """Returns how two vocabularies differ, in a sentence."""
    return (
        f"draft and target do not mean the same tokens by "
        f"{counted(vocabulary.different, 'id')}: {vocabulary.differing[0]}"
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
            f"TV of {counted(min(lengths), 'token')} over several rounds <= {budget.epsilon:g} "
            f"with confidence {1 - budget.delta:g} in {counted(len(certified), 'world')}",
        )
    if any(note.endswith(SLOW) for result in results for note in result.notes):
        parts.append(f"the draft's state departs from the text, and {SLOW}")
    return "; ".join(parts)
