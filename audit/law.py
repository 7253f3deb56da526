"""The laws of a sampler, read off its code case by case; the public Python API of steering.

Nothing is printed here.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from datetime import UTC, datetime

from audit import __version__
from audit.case import Case
from audit.concluding import named
from audit.errors import SamplerError, UsageError
from audit.exact.catalogue import headline
from audit.exact.engine import completed_law, target_law
from audit.fitting import cases_for
from audit.judgement.bets import biased_faults
from audit.judgement.steered import law_verdict
from audit.lawrecord import LawCase, LawRecord, LawSettings
from audit.laws.source import Source, source_of
from audit.laws.terms import Terms
from audit.samplers.interface import LoadedSampler, Sampler
from audit.selection import word_for
from audit.settings import DTYPES
from audit.steered import Found, SteeredEvidence
from audit.verdict import INTERRUPTED, Budget, Outcome, Verdict, exit_code, run_verdict

__all__ = ["LawSettings", "read_laws"]

DEFAULTS = LawSettings()
MOST_COUPLED = 100_000_000
Progress = Callable[[Case, Terms], None]


def read_laws(
    sampler: str | Sampler,
    cases: Sequence[str | Case] = (),
    *,
    settings: LawSettings = DEFAULTS,
    progress: Progress = lambda case, terms: None,
    command: str = "",
) -> LawRecord:
    """Returns the laws of a sampler, read off its code on each case.

    sampler: as `run_audit` takes it; a user's name is read in a process of its own. cases: as
    `run_audit` takes them. progress is told of every case before it is read, and on what terms.

    Raises:
        UsageError: an argument is unusable, or nothing is selected.
        SamplerError: the sampler cannot be loaded.
    """
    _check(settings)
    started, start = datetime.now(UTC).isoformat(timespec="milliseconds"), time.monotonic()
    source = source_of(sampler, timeout=settings.timeout, in_process=settings.in_process)
    with closing(source):
        chosen = cases_for(source.sampler, cases)
        budget = Budget(settings.alpha, settings.delta, settings.epsilon, len(chosen))
        read = _read(source, chosen, settings, budget, progress)
    verdict = _verdict(chosen, read, source.sampler, budget)
    interrupted = len(read) < len(chosen)
    return LawRecord(
        draftproof=__version__,
        command=command,
        sampler=named(source.sampler),
        settings=settings.model_copy(update={"cases": tuple(map(word_for, chosen))}),
        verdict=verdict,
        cases=tuple(read),
        not_excluded=None if source.sampler.facts.claims else _not_excluded(chosen, read),
        interrupted=interrupted,
        started=started,
        seconds=round(time.monotonic() - start, 3),
        exit_code=INTERRUPTED if interrupted else exit_code(verdict),
    )


def _read(
    source: Source,
    cases: Sequence[Case],
    settings: LawSettings,
    budget: Budget,
    progress: Progress,
) -> list[LawCase]:
    """Returns what each case gave, up to the one at which the user interrupted."""
    terms = Terms(
        dtype=settings.dtype,
        coupled=settings.coupled,
        seconds=settings.seconds,
        epsilon=settings.epsilon,
        delta=settings.delta / len(cases),
        tolerance=settings.tolerance,
        seed=settings.seed,
    )
    read: list[LawCase] = []
    try:
        for case in cases:
            progress(case, terms)
            read.append(_case(source, case, terms, budget))
    except KeyboardInterrupt:
        pass
    return read


def _case(source: Source, case: Case, terms: Terms, budget: Budget) -> LawCase:
    start, detail = time.monotonic(), ""
    found: Found | None = None
    try:
        found = source.read(case, terms)
        claims = source.sampler.facts.claims
        verdict = law_verdict(found.evidence, budget, claims=claims)
    except SamplerError as error:
        verdict, detail = Verdict(Outcome.ERROR, str(error)), error.detail
    return LawCase(
        id=case.id,
        hash=case.hash,
        vocab_size=case.vocab_size,
        num_speculative_tokens=case.num_speculative_tokens,
        tree=case.tree,
        verdict=verdict,
        evidence=found.evidence if found else None,
        law=found.law if found else None,
        seconds=round(time.monotonic() - start, 3),
        detail=detail,
    )


def _verdict(
    cases: Sequence[Case], read: Sequence[LawCase], sampler: LoadedSampler, budget: Budget
) -> Verdict:
    """Returns the verdict on all cases that were read."""
    if not read:
        return Verdict(Outcome.NO_VERDICT, "interrupted before any case was read")
    verdicts: Mapping[str, Verdict] = {one.id: one.verdict for one in read}
    claims = sampler.facts.claims
    seen = any(case.large or _distance(case, headline(case)) > budget.epsilon for case in cases)
    declared = f"as declared ({claims})" if claims else ""
    return run_verdict(verdicts, budget, testable=bool(claims) or seen, declared=declared)


def _not_excluded(cases: Iterable[Case], read: Iterable[LawCase]) -> tuple[str, ...] | None:
    """Returns the faults whose law is, on every case that passed, within its bound."""
    bounds = {
        one.id: one.evidence.bound
        for one in read
        if one.verdict.outcome is Outcome.PASS and isinstance(one.evidence, SteeredEvidence)
    }
    best: dict[str, bool] = {}
    for case in cases:
        for fault in biased_faults(case) if case.id in bounds else ():
            seen = _distance(case, fault) > bounds[case.id]
            best[fault] = best.get(fault, False) or seen
    return tuple(fault for fault, seen in best.items() if not seen) if bounds else None


def _distance(case: Case, fault: str) -> float:
    return float(completed_law(case, fault).total_variation(target_law(case)))


def _check(settings: LawSettings) -> None:
    """Raises UsageError for the first setting that is out of its bounds."""
    if settings.dtype not in DTYPES:
        raise UsageError(f"dtype = {settings.dtype!r} is not one of {', '.join(DTYPES)}.")
    for name in ("alpha", "delta", "epsilon", "tolerance"):
        value = getattr(settings, name)
        if value is not None and not 0 < value < 1:
            raise UsageError(f"{name} = {value!r} is not between 0 and 1, both excluded.")
    for name in ("coupled", "seconds", "timeout"):
        value = getattr(settings, name)
        if value is not None and not 0 < value < float("inf"):
            raise UsageError(f"{name} = {value!r} is not a positive number.")
    if settings.coupled is not None and settings.coupled > MOST_COUPLED:
        raise UsageError(
            f"coupled = {settings.coupled} is above {MOST_COUPLED} rows a case, which prove up to "
            "a step of float32 random numbers and take minutes to hours; give fewer."
        )
