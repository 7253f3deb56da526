"""The one-step check: does one step of a rule turn drafts from q into tokens from p?

For a prefix-causal rule the law of a token given its prefix depends on the rows after that prefix
alone. Such a rule is lossless on a case exactly if, at every prefix that it can reach by accepted
tokens, accepted + rejected * fallback = p, and the bonus row is p. Integers decide that at any
vocabulary size.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from audit.case import Case, Prefix
from audit.errors import UsageError
from audit.exact import integers
from audit.exact.catalogue import RULES, rule, rule_for
from audit.exact.chain import Chain, as_handed_over, target_over_draft
from audit.exact.engine import completed_law, target_law
from audit.exact.paths import Step
from audit.exact.ratios import Ratios, constant, minimum, of_row
from audit.exact.rule import Rule
from audit.row import Numerators, Row

_FIXED_POINT = 2**256


def _longest_denominator(vocab_size: int) -> int:
    """Returns the bits of a common denominator beyond which fixed-point numbers take over."""
    return int(max(2**10, 2**25 // vocab_size))


@dataclass(frozen=True, eq=False)
class OneStep:
    """What a step emits after one prefix, in units of 1 / denominator.

    kept and recovered [vocab]: the masses of accepted tokens and of draws after a rejection.
    slack bounds the error of every sum over them. It is 0, except where the exact values have no
    common denominator of reasonable length (a large vocabulary whose every token is divided by
    another number): then fixed-point numbers stand for them.
    """

    kept: Numerators
    recovered: Numerators
    denominator: int
    slack: Fraction

    @property
    def acceptance(self) -> Fraction:
        """The probability that the drafted token is accepted."""
        return Fraction(int(integers.total(self.kept)), self.denominator)

    @property
    def emitted(self) -> Numerators:
        """The masses of the emitted token, [vocab]."""
        return integers.added(self.kept, self.recovered)

    def total_variation(self, p: Row) -> Fraction:
        """Returns the total variation between the emitted token and `p`, within the slack."""
        mine, theirs, common = self._beside(p)
        distance = integers.total(np.abs(integers.subtracted(mine, theirs)))
        return Fraction(int(distance), 2 * common)

    def emits(self, p: Row) -> bool:
        """Returns whether the emitted token follows the row `p` exactly.

        Raises:
            UsageError: the difference is not 0 beyond doubt and below the slack.
        """
        if not self.slack:
            mine, theirs, _ = self._beside(p)
            return np.array_equal(mine, theirs)
        if self.total_variation(p) <= self.slack:
            raise UsageError(
                f"the one-step law lies within {float(self.slack):.0e} of the target but its "
                f"exact denominator has more than {_longest_denominator(len(p))} bits: use a "
                "smaller vocabulary."
            )
        return False

    def _beside(self, p: Row) -> tuple[Numerators, Numerators, int]:
        """Returns the emitted masses and those of `p` over one denominator."""
        common = math.lcm(self.denominator, p.denominator)
        mine, theirs = (
            integers.product(masses, integers.integer(common // denominator))
            for masses, denominator in (
                (self.emitted, self.denominator),
                (p.numerators, p.denominator),
            )
        )
        return mine, theirs, common


def causal_chain(wanted: str | Rule) -> Chain:
    """Returns the three ingredients of a prefix-causal rule.

    Raises:
        UsageError: the rule is unknown or not prefix-causal.
    """
    law = rule(wanted).law
    if isinstance(law, Chain) and law.causal:
        return law
    raise UsageError(
        f'rule "{rule(wanted).id}" has no one-step law, since a token depends on more than the '
        f"rows after its prefix: choose one of {', '.join(sorted(filter(is_causal, RULES)))}."
    )


def is_causal(wanted: str | Rule) -> bool:
    """Returns whether the one-step check decides the rule."""
    law = rule(wanted).law
    return isinstance(law, Chain) and law.causal


def one_step(wanted: str | Rule, p: Row, q: Row) -> OneStep:
    """Returns the masses that one step emits when x is drafted from `q` and the target is `p`.

    out(y) = q(y) a(y) + f(y) sum_x b(x), where b(x) = q(x) (1 - a(x)) / F(x), f is the fallback
    weight and F(x) its sum; where the rejected token is left out of f, so is x = y in the sum.
    """
    chain = causal_chain(wanted)
    # One row for all drafted tokens at once; a prefix-causal rule reads no other position.
    step = Step.alone(of_row(p), of_row(q), np.arange(len(p)))
    kept, weights = _kept(chain, step), chain.weights(step)
    if chain.without_rejected:
        shares, exact_sum = _blame(chain, step, weights)
    else:
        (units,), unit, exact_sum = _over_one_denominator(kept)
        kept, rejected = Ratios(units, integers.integer(unit)), unit - int(integers.total(units))
        (total,) = weights.total().fractions()
        shares = constant(Fraction(rejected, unit) / total if total else Fraction(0))
    (kept_units, drawn), denominator, exact = _over_one_denominator(kept, weights * shares)
    slack = Fraction(0) if exact and exact_sum else Fraction(4 * len(p), _FIXED_POINT)
    return OneStep(kept_units, drawn, denominator, slack)


def _kept(chain: Chain, step: Step) -> Ratios:
    """Returns q(x) a(x) by token; q min(1, p / q) = min(p, q) needs no division."""
    if chain.accept is target_over_draft and chain.tested is as_handed_over:
        return minimum(step.p, step.q)
    return (step.qx * chain.passes(step)).reduced()


def _blame(chain: Chain, step: Step, weights: Ratios) -> tuple[Ratios, bool]:
    """Returns sum_x b(x) without x = y, by token y, and whether it is exact."""
    sums = weights.total() - weights.at(step.token)
    blame = _divided(step.qx * chain.passes(step).complement(), sums)
    (blamed,), unit, exact = _over_one_denominator(blame)
    total = Ratios(integers.total(blamed)[None], integers.integer(unit))
    return total - blame, exact


def one_step_law(wanted: str | Rule, p: Row, q: Row) -> Row:
    """Returns the law of the token that one step of a prefix-causal rule emits.

    Raises:
        UsageError: the rule is not prefix-causal, or the law has no reasonable denominator.
    """
    step = one_step(wanted, p, q)
    if step.slack:
        raise UsageError(
            f'the one-step law of "{rule(wanted).id}" at a vocabulary of {len(p)} has a common '
            f"denominator of more than {_longest_denominator(len(p))} bits: use one_step, which "
            "bounds the error."
        )
    return Row.normalised(step.emitted.tolist())


def is_lossless_on(case: Case, wanted: str | Rule) -> bool:
    """Returns whether the rule's completed law on the case is the target's, exactly.

    Prefix-causal rules are decided by the one-step check, all others by their joint law.
    """
    if not is_causal(rule_for(case, wanted)):
        return completed_law(case, wanted) == target_law(case)
    reached: list[Prefix] = [()]
    # Where rows do not depend on the prefix, the first position stands for all of them.
    for _ in range(1 if case.context_free else case.num_speculative_tokens):
        longer: list[Prefix] = []
        for prefix in reached:
            step = one_step(wanted, case.target[prefix], case.draft[prefix])
            if not step.emits(case.target[prefix]):
                return False
            longer += [(*prefix, token) for token in np.flatnonzero(step.kept).tolist()]
        reached = longer[:1] if case.context_free else longer
    return all(_bonus_is_target(causal_chain(wanted), case, prefix) for prefix in reached)


def _bonus_is_target(chain: Chain, case: Case, block: Prefix) -> bool:
    target = [case.target[block[:-1]], case.target[block]]
    bonus = chain.bonus([of_row(row) for row in target], [of_row(case.draft[block[:-1]])])
    return bonus is None or not (bonus - of_row(target[-1])).numerators.any()


def _divided(masses: Ratios, sums: Ratios) -> Ratios:
    """Returns masses / sums, 0 where nothing is divided by 0."""
    by = np.where(sums.numerators == 0, 1, sums.numerators)
    return (masses * Ratios(np.asarray(sums.denominators), by)).reduced()


def _over_one_denominator(*parts: Ratios) -> tuple[list[Numerators], int, bool]:
    """Returns integers [vocab], their one denominator, and whether they are exact."""
    limit = _longest_denominator(parts[0].numerators.shape[-1])
    common = 1
    for denominator in {d for part in parts for d in part.denominators.ravel().tolist()}:
        common = math.lcm(common, denominator)
        if common.bit_length() > limit:
            return [_fixed_point(part) for part in parts], _FIXED_POINT, False
    scales = (integers.narrowed(common // part.denominators.astype(object)) for part in parts)
    pairs = zip(parts, scales, strict=True)
    return [integers.product(part.numerators, by).ravel() for part, by in pairs], common, True


def _fixed_point(values: Ratios) -> Numerators:
    numerators, denominators = (a.astype(object) for a in (values.numerators, values.denominators))
    return np.asarray(numerators * _FIXED_POINT // denominators).ravel()
