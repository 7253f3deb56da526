"""The audits of the field report: of one entry, of our own rule in its place, and of many seeds."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from functools import cache

from field_targets import Entry

from audit.errors import DraftproofError, UsageError
from audit.run import run_audit
from audit.samplers.decoders.interface import LoadedDecoder
from audit.samplers.decoders.loading import load_decoder
from audit.samplers.registry import load_sampler
from audit.samplers.stepping.loading import load_step
from audit.selection import select_cases
from audit.settings import Settings
from audit.simulation.alarms import ADVERSE
from audit.simulation.runs import campaign
from audit.state.auditing import audit_state
from audit.state.law import LawWatch, StateBudget
from audit.state.running import calls
from audit.state.settings import StateSettings
from audit.state.world import World, with_rules
from audit.state.worlds import table_world, tiny_world
from audit.statistics.total_variation import TotalVariation
from audit.stepping.auditing import run_step
from audit.verdict import Budget

BAD = ("FAIL", "WITHIN", "BROKEN", "DEPENDENT", "ERROR")


@dataclass(frozen=True)
class Found:
    """What an audit showed: total variation of the worst case, and the sentence on it."""

    verdict: str
    sentence: str
    distance: TotalVariation | None
    seconds: float


def audited(entry: Entry, name: str) -> Found:
    """Returns the audit of an entry, of the sampler `name` in its place.

    Raises: UsageError where it cannot be loaded.
    """
    start = time.monotonic()
    try:
        verdict, sentence, distances = _AUDITS[entry.level](entry, name)
    except UsageError:
        raise
    except DraftproofError as error:
        return Found("ERROR", str(error), None, time.monotonic() - start)
    worst = max(distances, key=lambda one: one.estimate - one.null_mean, default=None)
    return Found(verdict, sentence, worst, time.monotonic() - start)


def _verified(entry: Entry, name: str) -> tuple[str, str, list[TotalVariation]]:
    settings = Settings(samples=entry.n, epsilon=entry.epsilon, method="sampled")
    record = run_audit(name, cases=entry.cases, settings=settings).record
    seen = [case.evidence for case in record.cases if case.evidence is not None]
    distances = [one.views[0].total_variation for one in seen]
    return record.verdict.outcome.value, record.verdict.sentence, distances


def _stepped(entry: Entry, name: str) -> tuple[str, str, list[TotalVariation]]:
    settings = Settings(samples=entry.n, epsilon=entry.epsilon)
    record = run_step(load_step(name), cases=entry.cases, settings=settings)
    distances = [case.total_variation for case in record.cases]
    return record.verdict.outcome.value, record.verdict.sentence, [d for d in distances if d]


def _decoded(entry: Entry, name: str) -> tuple[str, str, list[TotalVariation]]:
    record = audit_state(name, entry.cases, settings=_asked(entry))
    distances = [world.law.total_variation for world in record.worlds]
    return record.outcome.value, record.sentence, distances


def _asked(entry: Entry) -> StateSettings:
    return StateSettings(
        sequences=entry.n,
        watched=60,
        epsilon=entry.epsilon,
        prompt=entry.prompt,
        architectures=entry.architectures,
        options=dict(entry.options),
    )


_AUDITS = {"verify": _verified, "step": _stepped, "decode": _decoded}


def reference_seconds(entry: Entry) -> float | None:
    """Returns how long the same audit of our own rule takes, None where ours cannot be asked."""
    if entry.architectures or any(key == "form" for key, _ in entry.options):
        return None
    name = "reference"
    if "tree" in entry.name:
        rules = {"fixed": "target-only", "distinct": "recursive-rejection-distinct"}
        name = f"rule:{rules.get(entry.name.rpartition('-')[2], 'recursive-rejection')}"
    return _seconds(replace(entry, name=name, cause="", short=0))


@cache
def _seconds(entry: Entry) -> float:
    return audited(entry, entry.name).seconds


def accused(entry: Entry, seeds: int) -> int:
    """Returns under how many seeds a short run of the entry accuses its target of anything."""
    if entry.level == "decode":
        return sum(bool(_law_failures(entry, seed)) for seed in range(1, seeds + 1))
    if entry.level == "step":
        return sum(_step_accuses(entry, seed) for seed in range(1, seeds + 1))
    budget, sampler = Budget(1e-6, 1e-3, entry.epsilon, cases=1), load_sampler(entry.name)
    runs = (
        campaign(sampler, entry.cases[:1], seed=seed, budget=budget, cap=entry.short)
        for seed in range(1, seeds + 1)
    )
    return sum(made.monitors[0].verdict().outcome in ADVERSE for made in runs)


_step = cache(load_step)


@cache
def _first_world(entry: Entry) -> tuple[LoadedDecoder, World]:
    """Returns the decoder of an entry, and the first world that it is audited in."""
    asked = _asked(entry)
    decoder = load_decoder(entry.name, asked.arguments)
    if entry.cases:
        world = table_world(select_cases(entry.cases[:1])[0], decoder, prompt=asked.prompt)
    else:
        form = decoder.facts.models
        world = tiny_world(entry.architectures[0], form=form, prompt=asked.prompt)
    ruled = with_rules(world, asked.rules)
    assert ruled is not None
    return decoder, ruled


def _law_failures(entry: Entry, seed: int) -> bool:
    decoder, world = _first_world(entry)
    watch = LawWatch(world, StateBudget())
    watch.update([*calls(decoder, world, entry.short, seed=seed, purpose="field")])
    return bool(watch.failures())


def _step_accuses(entry: Entry, seed: int) -> bool:
    settings = Settings(samples=entry.short, epsilon=entry.epsilon, seed=seed)
    record = run_step(_step(entry.name), cases=entry.cases[:1], settings=settings)
    return record.verdict.outcome in ADVERSE
