"""The verdict: outcomes, their order, and the sentence that says what was shown.

A verdict is made from probability evidence only. The worst case decides the run:
ERROR > FAIL > DEPENDENT > WITHIN > INCONCLUSIVE > PASS.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from audit.plural import are, counted

SCOPE = (
    "Scope: per round, average law of this run, on these cases, this dtype, device and batch "
    "shape; T rounds allow up to T epsilon."
)
TRUST = (
    "The verdict covers the rows that this code returned under audit; code that recognises an "
    "audit and behaves otherwise is not detected."
)


class Outcome(StrEnum):
    """What an audit concluded, worst first."""

    ERROR = "ERROR"
    FAIL = "FAIL"
    DEPENDENT = "DEPENDENT"
    WITHIN = "WITHIN"
    INCONCLUSIVE = "INCONCLUSIVE"
    NO_VERDICT = "NO_VERDICT"
    NOT_TESTABLE = "NOT_TESTABLE"
    PASS = "PASS"


EXIT_CODES: Mapping[Outcome, int] = {
    Outcome.PASS: 0,
    Outcome.WITHIN: 1,
    Outcome.FAIL: 1,
    Outcome.DEPENDENT: 1,
    Outcome.INCONCLUSIVE: 3,
    Outcome.NO_VERDICT: 3,
    Outcome.NOT_TESTABLE: 3,
    Outcome.ERROR: 4,
}
CONTROL_DID_NOT_FAIL = 3
INTERRUPTED = 130


@dataclass(frozen=True)
class Verdict:
    """One outcome, the sentence to read first, and what led to it.

    level: "verify", "step" or "decode". partition: a PASS certified on fixed bins only.
    suspects: ids of the catalogued faults that fit, only after FAIL.
    """

    outcome: Outcome
    sentence: str
    reasons: tuple[str, ...] = ()
    level: str = "verify"
    partition: bool = False
    suspects: tuple[str, ...] = ()

    @property
    def word(self) -> str:
        """The word to print: the outcome, or PARTITION-PASS."""
        return "PARTITION-PASS" if self.partition else self.outcome.value.replace("_", " ")


@dataclass(frozen=True)
class Budget:
    """What a run may spend and what it must show; fixed before the first trial.

    alpha: chance of any false accusation in the run. delta: chance of any wrong certificate.
    epsilon: the TV to certify. accept_within: the proven bias that the user accepts, or None.
    cases: how many cases share alpha and delta.
    """

    alpha: float
    delta: float
    epsilon: float
    cases: int
    accept_within: float | None = None

    PRESERVATION = 0.45
    FIRST_ROWS = 0.05  # with PRESERVATION this is the gate's half
    IMPOSSIBLE = 0.1
    INDEPENDENCE = 0.15
    CONFORMITY = 0.15
    CHI_SQUARE = 0.1

    def level(self, share: float) -> float:
        """Returns the level of one case in one share of alpha (verdict rules, section 3)."""
        return self.alpha * share / self.cases

    def log_threshold(self, share: float) -> float:
        """Returns the natural log of the e-value at which one case fails by this share."""
        return -math.log(self.level(share))


@dataclass(frozen=True)
class Finding:
    """What the monitor of one case has established; the input of `case_verdict`.

    failures: sentences, each proven within alpha. impossible: one of them is an impossible event
    or a broken declared rule, which no certificate softens. dependent: the sentence that says
    what is dependent, "" where nothing is. certified: the smallest U of any look so far.
    unobserved: declared rules that cannot be seen on this case.
    """

    failures: tuple[str, ...]
    hard: bool
    dependent: str
    certified: float | None
    certify: str
    trials: int
    trials_needed: int | None
    limited: bool
    claims: str = ""
    unobserved: tuple[str, ...] = ()


def case_verdict(finding: Finding, budget: Budget) -> Verdict:
    """Returns the verdict on one case."""
    certified = finding.certified if finding.certified is not None else math.inf
    if finding.failures:
        within = not finding.hard and certified <= max(budget.accept_within or 0, budget.epsilon)
        return _within(finding, certified) if within else _fail(finding)
    if finding.dependent:
        return Verdict(Outcome.DEPENDENT, finding.dependent)
    if finding.limited:
        sentence = (
            f"no verdict: a limited run of {counted(finding.trials, 'trial')} decides nothing"
        )
        return Verdict(Outcome.NO_VERDICT, sentence)
    if certified <= budget.epsilon and finding.certify != "bias-only":
        return _pass(finding, certified)
    return _inconclusive(finding, budget)


def _fail(finding: Finding) -> Verdict:
    return Verdict(Outcome.FAIL, finding.failures[0], finding.failures)


def _within(finding: Finding, certified: float) -> Verdict:
    sentence = f"bias is proven, and TV <= {certified:.3g} is certified"
    return Verdict(Outcome.WITHIN, sentence, finding.failures)


def _pass(finding: Finding, certified: float) -> Verdict:
    partition = finding.certify == "partition"
    what = "TV on the fixed bins" if partition else "TV"
    against = f"the declared law of {finding.claims}" if finding.claims else "the target"
    sentence = f"{what} to {against} <= {certified:.3g} certified; nothing failed"
    if finding.unobserved:
        sentence += f"; whether it follows {' or '.join(finding.unobserved)} cannot be seen here"
    return Verdict(Outcome.PASS, sentence, partition=partition)


def _inconclusive(finding: Finding, budget: Budget) -> Verdict:
    needed = finding.trials_needed
    if finding.certify == "bias-only" or needed is None:
        more = "this many trials cannot certify it; allow more, or a larger epsilon"
    else:
        left = max(0, needed - finding.trials)
        more = f"about {counted(left, 'more trial')} {are(left)} needed"
    seen = "nothing was certified" if finding.certified is None else f"U = {finding.certified:.3g}"
    sentence = f"{seen}, epsilon = {budget.epsilon:g}: {more}"
    return Verdict(Outcome.INCONCLUSIVE, sentence)


def run_verdict(
    verdicts: Mapping[str, Verdict],
    budget: Budget,
    *,
    together: str = "",
    testable: bool = True,
    declared: str = "",
) -> Verdict:
    """Returns the verdict on a run: its worst case.

    together: a failure that only all cases together prove. testable: whether some selected case
    could have seen the full-target fallback above epsilon. declared: for a sampler lossy by
    declaration, what it declares and how far that is from the target.
    """
    order = list(Outcome)
    rank = {case: order.index(verdict.outcome) for case, verdict in verdicts.items()}
    worst = verdicts[min(rank, key=rank.__getitem__)].outcome
    if together and order.index(worst) > order.index(Outcome.FAIL):
        return Verdict(Outcome.FAIL, together, (together,))
    if not testable and order.index(worst) > order.index(Outcome.WITHIN):
        return Verdict(Outcome.NOT_TESTABLE, _blind_sentence(budget))
    if worst is Outcome.PASS:
        return _run_pass(verdicts, budget, declared)
    return _run_worst(verdicts, worst)


def _run_worst(verdicts: Mapping[str, Verdict], worst: Outcome) -> Verdict:
    """Returns the run's verdict where `worst`, not PASS, is the worst outcome of a case."""
    reasons = tuple(f"{c}: {v.sentence}" for c, v in verdicts.items() if v.outcome is worst)
    of = counted(len(verdicts), "case")
    return Verdict(worst, f"{len(reasons)} of {of}; {reasons[0]}", reasons)


def _blind_sentence(budget: Budget) -> str:
    return (
        f"not testable: no selected case could see the full-target fallback above "
        f"epsilon = {budget.epsilon:g}; select a case with rejections"
    )


def _run_pass(verdicts: Mapping[str, Verdict], budget: Budget, declared: str) -> Verdict:
    partial = [case for case, verdict in verdicts.items() if verdict.partition]
    only_bins = len(partial) == len(verdicts)
    sentence = (
        f"{'TV on fixed bins' if only_bins else 'TV'} {'to that law ' if declared else ''}"
        f"<= {budget.epsilon:g} certified with confidence {1 - budget.delta:g} "
        f"on {counted(len(verdicts), 'case')}; nothing failed"
    )
    if partial and not only_bins:
        sentence += f"; on {len(partial)} of them for fixed bins only ({', '.join(partial)})"
    if declared:
        sentence = f"{declared}; {sentence}"
    return Verdict(Outcome.PASS, sentence, partition=only_bins)


def exit_code(verdict: Verdict, *, accepted: bool = False) -> int:
    """Returns the exit code of a run; `accepted` is true where WITHIN was accepted beforehand."""
    if verdict.outcome is Outcome.WITHIN and accepted:
        return 0
    return EXIT_CODES[verdict.outcome]
