"""Everything that is known exactly about one rule on one case, ready to be printed."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from audit.case import Case
from audit.exact import measures
from audit.exact.engine import block_law, completed_law, target_law
from audit.exact.law import Law
from audit.exact.onestep import causal_chain, is_causal, is_lossless_on, one_step
from audit.exact.optimum import best_acceptance
from audit.exact.paths import CELL_LIMIT, cells_of
from audit.exact.ratios import of_row
from audit.row import Row


@dataclass(frozen=True, eq=False)
class RowSummary:
    """The first position token by token.

    kept: mass of the drafted token being accepted. recovered: law of the draw after a rejection,
    None if nothing is ever rejected. emitted: law of the first token. residual: max(p - q, 0)
    normalised, None if p = q.
    """

    kept: tuple[Fraction, ...]
    recovered: tuple[Fraction, ...] | None
    emitted: tuple[Fraction, ...]
    residual: Row | None


@dataclass(frozen=True, eq=False)
class ExactSummary:
    """One rule on one case.

    first_token_tv and total_variation: distance to the target of the first token and of the
    completed law; the latter and `rows` are None where the case is too large to enumerate.
    acceptance: P(a token drafted at the first place is kept). best_acceptance: the most that any
    lossless rule reaches (optimum.py), None where only bounds are known.
    slack: error bound of first_token_tv and acceptance, 0 unless a common denominator is too long.
    """

    case_id: str
    rule_id: str
    biased: bool
    first_token_tv: Fraction
    total_variation: Fraction | None
    acceptance: Fraction
    best_acceptance: Fraction | None
    number_accepted: tuple[Fraction, ...]
    expected_tokens: Fraction
    undefined: Fraction = Fraction(0)
    slack: Fraction = Fraction(0)
    rows: RowSummary | None = None


def exact_summary(case: Case, rule_id: str) -> ExactSummary:
    """Returns the exact figures of a rule on a case.

    Cases beyond CELL_LIMIT are summarised by the one-step check, if their rows do not depend on
    the prefix and the rule is prefix-causal.

    Raises:
        UsageError: the case is beyond CELL_LIMIT and the one-step check does not decide it.
    """
    if cells_of(case) > CELL_LIMIT and case.context_free and is_causal(rule_id):
        return _by_one_step(case, rule_id)
    return _enumerated(case, rule_id)


def _enumerated(case: Case, rule_id: str) -> ExactSummary:
    law, target = completed_law(case, rule_id), target_law(case)
    kept = measures.kept_masses(case, rule_id)
    return ExactSummary(
        case_id=case.id,
        rule_id=rule_id,
        biased=law != target,
        first_token_tv=law.first_token().total_variation(target.first_token()),
        total_variation=law.total_variation(target),
        acceptance=sum(kept, start=Fraction(0)),
        best_acceptance=best_acceptance(case).value,
        number_accepted=measures.number_accepted_law(case, rule_id),
        expected_tokens=measures.expected_tokens(case, rule_id),
        undefined=law.undefined,
        rows=_rows(case, rule_id),
    )


def _rows(case: Case, rule_id: str) -> RowSummary:
    recovered = measures.recovered_law(case, rule_id)
    return RowSummary(
        kept=tuple(measures.kept_masses(case, rule_id)),
        recovered=None if recovered is None else _tokens(recovered),
        emitted=_tokens(block_law(case, rule_id).first_token()),
        residual=measures.residual(case.target[()], case.draft[()]),
    )


def _tokens(law: Law) -> tuple[Fraction, ...]:
    return tuple(law[(token,)] for token in range(law.vocab_size))


def _by_one_step(case: Case, rule_id: str) -> ExactSummary:
    p, q = case.target[()], case.draft[()]
    step = one_step(rule_id, p, q)
    rate, gamma = step.acceptance, case.num_speculative_tokens
    accepted = (*(rate**n * (1 - rate) for n in range(gamma)), rate**gamma)
    bonus = causal_chain(rule_id).bonus([of_row(p)] * 2, [of_row(q)])
    missing = rate**gamma if bonus is None else Fraction(0)
    return ExactSummary(
        case_id=case.id,
        rule_id=rule_id,
        biased=not is_lossless_on(case, rule_id),
        first_token_tv=step.total_variation(p),
        total_variation=None,
        acceptance=rate,
        best_acceptance=measures.acceptance_rate(p, q),
        number_accepted=accepted,
        expected_tokens=sum((rate**n for n in range(gamma + 1)), start=Fraction(0)) - missing,
        slack=step.slack,
    )
