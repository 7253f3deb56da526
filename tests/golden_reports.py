"""Golden reports: one record with every outcome, and the files that its reports must equal.

`REWRITE_GOLDEN=1 pytest tests/test_render_*.py` writes the files anew; look at the difference
before it is committed.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import sample_record as sample

from audit.record import CaseResult, Record
from audit.verdict import Outcome, Verdict

GOLDEN = Path(__file__).parent / "golden"
HOSTILE_NAMES = (
    sample.HOSTILE,
    "x" * 10_000,
    "a|b\\|c`d``e",
    "::error::x\r\n::add-mask::secret",
    "\ud800\ufffe\uffff\x0b\x7f]]>&amp;<!--",
    "=HYPERLINK(1)",
    "@everyone [a](https://example.org) ![b](c) <img src=x>",
    "../../etc/passwd",
    "%0A::error::",
    "\u202e\u2066\u200b",
)


def failed() -> CaseResult:
    """Returns a failed case that two suspects fit."""
    case = sample.bad()
    reasons = ("the emitted tokens do not follow the target.", "a second | reason")
    suspects = ("full-target-fallback", "siblings-full-target-fallback")
    verdict = Verdict(Outcome.FAIL, reasons[0], reasons, suspects=suspects)
    return case.model_copy(update={"verdict": verdict})


def every_outcome() -> Record:
    """Returns a record with a case for each outcome, and a control that failed."""
    counted = sample.evidence(sample.NEAR_TARGET, log_e=1.5)
    small = replace(counted, certified=None, detectable=None, trials_needed=None)
    audit = sample.audit(
        "decoding/verify.py:verify",
        sample.good(),
        failed(),
        sample.case_result("within", Outcome.WITHIN, counted),
        sample.case_result("dependent", Outcome.DEPENDENT, counted),
        sample.case_result("undecided", Outcome.INCONCLUSIVE, small),
        sample.case_result("limited", Outcome.NO_VERDICT, small),
        sample.case_result("broken", Outcome.ERROR, None, detail="Traceback:\n  line 7\n"),
    )
    sampler = audit.sampler.model_copy(update={"source": "decoding/verify.py:12"})
    return sample.record(audit.model_copy(update={"sampler": sampler}), exit_code=4)


def hostile(*, cases: int = len(HOSTILE_NAMES)) -> Record:
    """Returns a record in which every text is hostile."""
    results = [
        sample.case_result(
            name + str(number) * (cases > len(HOSTILE_NAMES)),
            (Outcome.FAIL, Outcome.ERROR, Outcome.INCONCLUSIVE)[number % 3],
            sample.evidence(sample.FULL_TARGET, log_e=181.0) if number % 2 else None,
            verdict=Verdict(
                (Outcome.FAIL, Outcome.ERROR, Outcome.INCONCLUSIVE)[number % 3],
                name,
                (name, sample.HOSTILE),
                suspects=(name,) if number % 3 == 0 else (),
            ),
            detail=f"{name}\n{sample.HOSTILE}",
            repeat=f"draftproof run {name}",
            source=name,
        )
        for number, name in zip(range(cases), HOSTILE_NAMES * cases, strict=False)
    ]
    audit = sample.audit(sample.HOSTILE, *results)
    verdict = Verdict(Outcome.ERROR, sample.HOSTILE)
    sampler = audit.sampler.model_copy(update={"source": HOSTILE_NAMES[3]})
    changed = audit.model_copy(update={"sampler": sampler, "verdict": verdict})
    return sample.record(changed, command=f"draftproof run {sample.HOSTILE}", draftproof="0\x1b1")


def golden(name: str, text: str) -> str:
    """Returns what the golden file holds, after writing `text` into it where that is asked for."""
    path = GOLDEN / name
    if os.environ.get("REWRITE_GOLDEN"):
        path.write_text(text, encoding="utf-8")
    return path.read_text(encoding="utf-8")
