"""Records built by hand: the article's case failing, another passing, a control, hostile names.

Statistics are computed from counts that follow a chosen law exactly; no run is behind them.
"""

from __future__ import annotations

import numpy as np

from audit.evidence import (
    Acceptance,
    AcceptedTokens,
    BonusToken,
    Conformity,
    Deviation,
    Evidence,
    GateReading,
    ViewReading,
)
from audit.record import Audit, AuditedSampler, CaseResult, Environment, Record, RunSettings
from audit.statistics.chi_square import cressie_read, pearson
from audit.statistics.impossible import impossible_events
from audit.statistics.independence import independence
from audit.statistics.total_variation import total_variation
from audit.verdict import Outcome, Verdict

HOSTILE = "<script>alert(1)</script>\x1b[31m\u202egpj.exe\x00\n" + "x" * 10_000
TRIALS = 20_000
TARGET = (0.2, 0.5, 0.3)
NEAR_TARGET = (0.2044, 0.4956, 0.3)
FULL_TARGET = (0.26, 0.45, 0.29)


def evidence(law: tuple[float, ...], *, log_e: float) -> Evidence:
    """Returns the evidence of 20,000 trials whose first token follows `law` exactly."""
    counts = np.array([round(TRIALS * share) for share in law])
    target = np.array(TARGET)
    view = ViewReading(
        name="tokens",
        cells=3,
        cressie_read=cressie_read(counts, target, n=TRIALS),
        pearson=pearson(counts, target, n=TRIALS),
        total_variation=total_variation(
            counts // 2, counts - counts // 2, probabilities=target, delta=1e-4
        ),
    )
    by_call, no_pairs = np.array([counts // 2, counts // 2]), np.zeros((3, 3), dtype=np.int64)
    return Evidence(
        trials=TRIALS,
        looks=7,
        gate=GateReading(log_e, max(log_e, 0.5), 14.5, leader="full-target-fallback"),
        impossible=impossible_events(0, TRIALS, tolerance=1e-6),
        traces=(),
        views=(view,),
        independence=independence(by_call, no_pairs, no_pairs),
        conformity=None,
        acceptance=Acceptance(
            0.7,
            0.69,
            0.71,
            best=0.7,
            expected=0.7,
            mean_emitted=1.7,
            expected_emitted=1.7,
            rules=("ratio",),
            source="observed",
            best_known_by="closed form",
            tokens=AcceptedTokens(
                0.7,
                0.69,
                0.71,
                best=0.72,
                best_lower=0.72,
                best_known_by="closed form",
                expected=0.7,
                rounds=(6_000, 14_000),
                law=(0.3, 0.7),
            ),
        ),
        deviation=Deviation(
            tokens=(0, 1, 2),
            expected=TARGET,
            observed=tuple(counts.tolist()),
            low=tuple(share - 0.01 for share in law),
            high=tuple(share + 0.01 for share in law),
            predictions={"full-target-fallback": FULL_TARGET},
            draft=(0.5, 0.3, 0.2),
        ),
        rules_observed=("ratio",),
        certified=view.total_variation.upper,
        detectable=0.02,
        trials_needed=5_000,
        blind=("bonus-missing", "lenience"),
        null_distance=2e-8,
        path=((2_000, log_e / 10), (10_000, log_e / 2), (TRIALS, log_e)),
        bonus=BonusToken((0, 1, 2), (2_800, 7_100, 4_100), (2_800.0, 7_000.0, 4_200.0)),
    )


def case_result(name: str, outcome: Outcome, found: Evidence | None, **other: object) -> CaseResult:
    """Returns a result of the article's case under this id."""
    sentences = {
        Outcome.PASS: "certified within 0.0244 of the target.",
        Outcome.FAIL: "the emitted tokens do not follow the target.",
        Outcome.ERROR: "row 3 of the output holds token 7, outside 0 to 2.",
    }
    values = {
        "id": name,
        "hash": "0123456789abcdef" * 4,
        "why": "The article's three tokens.",
        "sampling": "",
        "vocab_size": 3,
        "num_speculative_tokens": 1,
        "certify": "full",
        "verdict": Verdict(outcome, sentences.get(outcome, "undecided.")),
        "evidence": found,
        "counts": {"0 2": 9_000, "1": 11_000} if found else {},
        "repeat": f"draftproof run transformers --cases {name} --seed 0",
    }
    return CaseResult(**{**values, **other})


def good(name: str = "p-equals-q") -> CaseResult:
    """Returns a passed case."""
    return case_result(name, Outcome.PASS, evidence(NEAR_TARGET, log_e=-3.2))


def bad(name: str = "article-three-tokens") -> CaseResult:
    """Returns a failed case."""
    return case_result(name, Outcome.FAIL, evidence(FULL_TARGET, log_e=181.0))


def audit(name: str, *cases: CaseResult, **facts: object) -> Audit:
    """Returns an audit with the verdict of its worst case."""
    worst = min(cases, key=lambda case: list(Outcome).index(case.verdict.outcome))
    verdict = Verdict(worst.verdict.outcome, f"{name[:40]} was judged on {len(cases)} cases.")
    sampler = AuditedSampler(name=name, facts=facts, identity={"transformers": "5.0.0"})
    passed = [case for case in cases if case.verdict.outcome is Outcome.PASS and case.evidence]
    blind = [set(case.evidence.blind) for case in passed if case.evidence]
    named = tuple(sorted(set.intersection(*blind))) if blind else None
    return Audit(sampler=sampler, verdict=verdict, cases=cases, not_excluded=named)


def record(subject: Audit | None = None, **other: object) -> Record:
    """Returns a whole record: by default a correct sampler beside a control that fails."""
    subject = subject or audit("transformers", good("article-three-tokens"), good())
    control = audit("fault:full-target-fallback", bad(), good())
    values = {
        "sampler": subject.sampler,
        "verdict": subject.verdict,
        "cases": subject.cases,
        "not_excluded": subject.not_excluded,
        "draftproof": "0.1.0",
        "command": "draftproof run transformers --control full-target-fallback",
        "settings": RunSettings(
            seed=0, device="cpu", dtype="float32", tier="smoke", cap=20_000, alpha=1e-6,
            delta=1e-3, epsilon=0.05, tolerance=1e-6, control="full-target-fallback",
        ),
        "environment": Environment(
            python="3.11.9", torch="2.13.0", numpy="2.4.6", platform="Linux"
        ),
        "started": "2025-01-31T12:00:00Z",
        "seconds": 12.25,
        "control": control,
        "exit_code": 0,
        "seeds_tried": (0,),
    }  # fmt: skip
    return Record(**{**values, **other})


def conformity() -> Conformity:
    """Returns evidence against a declared rule."""
    return Conformity(
        declared=("ratio",),
        gate=GateReading(40.0, 40.0, 15.7, leader="acceptance"),
        impossible=impossible_events(0, 100),
        traces=("draft 0, accepted 0, emitted 0: the residual is 0 there",),
    )
