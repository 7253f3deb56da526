"""Records and pages for a browser.

Three runs: failing with hostile names, passing, and of a large vocabulary. Two audits at the step
level: failing with every paragraph that its page may have and hostile texts, and passing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import sample_record as sample

from audit.diagnosis.results import Departure, Diagnosis, Estimate, Suspect
from audit.evidence import REST
from audit.exact.catalogue import RULES
from audit.record import CaseResult, Record, Visibility
from audit.render.html import page
from audit.render.step_page import step_page
from audit.samplers.stepping.loading import load_step
from audit.settings import Settings
from audit.stepping.auditing import run_step
from audit.stepping.record import StepRecord
from audit.verdict import INTERRUPTED, Outcome


def visibility(cases: int) -> tuple[Visibility, ...]:
    """Returns a matrix of all faults with every kind of cell."""
    return tuple(
        Visibility(
            fault=name,
            distances=tuple((None, 0.0, 0.001, 0.3)[(row * n + row) % 4] for n in range(cases)),
        )
        for row, name in enumerate(RULES)
    )


def failing() -> Record:
    """Returns a record with hostile names, a diagnosis, an error, a failure and passes."""
    cases = (
        sample.bad(sample.HOSTILE),
        sample.case_result("broken", Outcome.ERROR, None, detail=sample.HOSTILE),
        sample.good("article-three-tokens"),
        sample.good(),
    )
    departure = Departure("article-three-tokens", "recovered", 1, 40, 61, 12.3, 1e-12, token=0)
    suspect = Suspect(
        rule="full-target-fallback",
        ids=("full-target-fallback", "siblings-full-target-fallback"),
        meaning=sample.HOSTILE,
        posterior=0.99,
        strength=Estimate(0.5, 0.4, 0.6),
    )
    found = Diagnosis(
        base="ratio",
        cases=("article-three-tokens",),
        trials=20_000,
        departures=(departure,),
        suspects=(suspect,),
        steps=("recovered",),
        fits=(),
        unlisted=0.0,
        fit=0.5,
    )
    audit = sample.audit(sample.HOSTILE, *cases)
    return sample.record(audit, diagnoses=(found,), visibility=visibility(4))


def passing() -> Record:
    """Returns a record of twenty cases that passed, beside their control."""
    audit = sample.audit("transformers", *(sample.good(f"case-{n}") for n in range(20)))
    return sample.record(audit, visibility=visibility(20))


def large() -> Record:
    """Returns a record of a large vocabulary, seen through bins, that failed."""
    found = sample.evidence(sample.FULL_TARGET, log_e=90.0)
    bins = replace(found.deviation, bins=True)
    head = replace(found.deviation, tokens=(70_000, 128_255, REST))
    counts = {f"{n} {n + 1}": 900 - n for n in range(20)} | {"rest": 500}
    shown = replace(found, deviation=bins, head=head)
    case: CaseResult = sample.bad("zipf-128256").model_copy(
        update={"vocab_size": 128_256, "counts": counts, "evidence": shown}
    )
    return sample.record(sample.audit("engine.py:verify", case), control=None)


RECORDS = {"failing": failing, "passing": passing, "large": large}


def stepped(sampler: str, *cases: str) -> StepRecord:
    """Returns the audit of one of our step samplers, with no verdict where it does not fail."""
    return run_step(load_step(sampler), cases=cases, settings=Settings(limit=400))


def step_failing() -> StepRecord:
    """Returns a wrong claim, an open one, hostile texts, a traceback and an interruption."""
    record = stepped("fault:argmax-draft", "article-three-tokens", "one-hot-draft")
    name = record.sampler.model_copy(update={"name": sample.HOSTILE})
    changed = {
        "sampler": name,
        "command": sample.HOSTILE,
        "told": (sample.HOSTILE,),
        "not_tested": sample.HOSTILE,
        "detail": sample.HOSTILE,
        "diagnoses": failing().diagnoses,
        "exit_code": INTERRUPTED,
    }
    return record.model_copy(update=changed)


def step_passing() -> StepRecord:
    """Returns a right sampler of which everything was asked."""
    record = stepped("reference", "article-three-tokens")
    passed = replace(record.verdict, outcome=Outcome.PASS)
    return record.model_copy(update={"verdict": passed, "not_excluded": tuple(RULES)})


PAGES: dict[str, Callable[[], str]] = {
    **{name: (lambda made=record: page(made())) for name, record in RECORDS.items()},
    "step, failing": lambda: step_page(step_failing()),
    "step, passing": lambda: step_page(step_passing()),
}
