"""What the law of a sampler tells of its code: the arithmetic of its test, and each thing's size.

Every reading is a model of the acceptance probabilities, or of the recovered tokens, that holds for
all of them up to the grid of the numbers. p and q are the probabilities handed over.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt
import torch

from audit.exact.catalogue import RULES, rules_for
from audit.steering.law import JointLaw

Array = npt.NDArray[np.float64]
LEVELS = range(2, 4097)
CHANCE = 1e-2  # how often any probabilities would look like those of a coin with few values
ROUGH = 3  # units of the grid and of rounding that a probability may be off by
SHORT = (torch.float16, torch.bfloat16)


@dataclass(frozen=True)
class Reading:
    """One thing that the law tells; says: what the sampler does, to be read after "it".

    size: its constant, or what it does to a probability.
    """

    name: str
    says: str
    size: float


@dataclass(frozen=True, eq=False)
class Tests:
    """The acceptance tests as arrays: p, q and chance float64 [tests].

    bits: of the grid of the numbers that decide. dtype: of the rows handed over.
    """

    p: Array
    q: Array
    chance: Array
    bits: int
    dtype: torch.dtype

    @classmethod
    def of(cls, law: JointLaw, *, bits: int, dtype: torch.dtype) -> Tests:
        """Returns the tests of a law."""
        tests = law.tests()
        p = [float(law.case.target[test.prefix][test.token]) for test in tests]
        q = [float(law.case.draft[test.prefix][test.token]) for test in tests]
        chances = [float(test.chance) for test in tests]
        return cls(np.array(p), np.array(q), np.array(chances), bits, dtype)

    @property
    def unit(self) -> float:
        """The least that shows: a step of the grid, or what rounding the rows may do."""
        return max(2.0**-self.bits, torch.finfo(self.dtype).eps / 2)

    @property
    def told(self) -> npt.NDArray[np.bool_]:
        """Which tests are neither sure to pass nor to fail."""
        return (self.chance > 0) & (self.chance < 1)

    def fit(self, model: Array) -> bool:
        """Returns whether these probabilities, cut to [0, 1], are those of the tests."""
        return bool((np.abs(np.clip(model, 0, 1) - self.chance) <= ROUGH * self.unit).all())

    @property
    def off(self) -> float:
        """The largest distance to min(1, p / q)."""
        return float(np.abs(np.minimum(self.p / self.q, 1) - self.chance).max(initial=0.0))

    def ratios(self, dtype: torch.dtype) -> Array:
        """Returns p / q worked out in a dtype."""
        p, q = (torch.from_numpy(values).to(dtype) for values in (self.p, self.q))
        return np.asarray((p / q).double().numpy())


def read(law: JointLaw, *, bits: int, dtype: torch.dtype) -> tuple[Reading, ...]:
    """Returns what a law tells; models that fit alike on this case are all named.

    bits: of the coarsest grid that decides. dtype: of the rows handed over.
    """
    tests = Tests.of(law, bits=bits, dtype=dtype)
    broken = sum(law.broken.values()) > _bound(law, tests.unit)  # a coin may raise, and not decide
    rules, clamp = _rules(law, tests.unit), _clamp(law, tests.unit)
    if not len(tests.p):
        return tuple(rules)
    if tests.fit(tests.p / tests.q):
        says = f"accepts with min(1, p / q), up to {tests.off:.1e}"
        found = [Reading("ratio", says, tests.off), *_comparison(tests)]
    else:
        found = [] if broken else [*_short_ratio(tests), *_epsilon(tests), *_lenience(tests)]
        found = found or rules or ([] if broken else list(_levels(tests)))
    return tuple(dict.fromkeys([*found, *([clamp] if clamp else []), *rules]))


def _comparison(tests: Tests) -> Iterable[Reading]:
    """Whether a coin equal to the ratio accepts: it shows where the ratio is on the grid."""
    step = 2.0**-tests.bits
    ratios = tests.ratios(tests.dtype) / step
    below, upto = np.minimum(np.ceil(ratios), 1 / step), np.minimum(np.floor(ratios) + 1, 1 / step)
    given = tests.chance / step
    for counts, sign in ((below, "<"), (upto, "<=")):
        if np.array_equal(counts, given) and (below != upto).any():
            yield Reading(f"coin {sign} ratio", f"accepts while coin {sign} p / q", step)


def _short_ratio(tests: Tests) -> Iterable[Reading]:
    """A ratio that is worked out in a short type."""
    for dtype in SHORT:
        if tests.fit(tests.ratios(dtype)):
            name = str(dtype).removeprefix("torch.")
            yield Reading(f"{name} ratio", f"works out p / q in {name}", tests.off)


def _epsilon(tests: Tests) -> Iterable[Reading]:
    """A constant added to the denominator."""
    if tests.told.any():
        p, q, chance = (v[tests.told] for v in (tests.p, tests.q, tests.chance))
        epsilon = float(np.median(p / chance - q))
        if epsilon > 0 and tests.fit(tests.p / (tests.q + epsilon)):
            yield Reading("epsilon", f"accepts with p / (q + {epsilon:.3g})", epsilon)


def _lenience(tests: Tests) -> Iterable[Reading]:
    """A constant factor on q."""
    told = tests.told & (tests.p > 0)
    if told.any():
        p, q, chance = (v[told] for v in (tests.p, tests.q, tests.chance))
        factor = float(np.median(p / (chance * q)))
        if tests.fit(tests.p / (factor * tests.q)):
            yield Reading("lenience", f"accepts with p / ({factor:.6g} q)", factor)


def _levels(tests: Tests) -> Iterable[Reading]:
    """A coin with few values; more of them than CHANCE allows would fit anything."""
    told = np.unique(tests.chance[tests.told])
    for levels in LEVELS if len(told) else ():
        wide = ROUGH * levels * tests.unit
        if levels * (2 * wide) ** len(told) > CHANCE:
            return
        if _whole(told * levels, wide) and not _whole(tests.p * levels, wide):
            yield Reading("levels", f"tests with a coin of {levels} values", float(levels))
            return


def _whole(values: Array, wide: float) -> bool:
    return bool((np.abs(values - np.rint(values)) <= wide).all())


def _clamp(law: JointLaw, unit: float) -> Reading | None:
    """Returns the value that max(p - q, 0) is raised to, None where it is not."""
    pairs: list[tuple[Array, Array]] = []
    for final in law.finals():
        if final.rejected is not None and final.ideal:
            rows = zip(law.case.target[final.prefix], law.case.draft[final.prefix], strict=True)
            excess = np.array([float(max(p - q, Fraction(0))) for p, q in rows])
            pairs.append((excess, np.array([float(value) for value in final.law])))
    raised = [value for pair in pairs for value in _raised(*pair)]
    value = float(np.median(raised)) if raised else 0.0
    for excess, given in pairs:
        model = np.maximum(excess, value)
        if value <= ROUGH * unit or np.abs(model / model.sum() - given).max() > 4 * ROUGH * unit:
            return None
    return (
        Reading("clamp", f"raises the residual to at least {value:.3g}", value) if pairs else None
    )


def _raised(excess: Array, given: Array) -> list[float]:
    """Returns what the ids without excess seem to have been raised to, in one recovered law."""
    most = int(excess.argmax())
    scale = excess[most] / given[most] if given[most] else 0.0
    return [float(value) for value in given[excess == 0] * scale]


def _bound(law: JointLaw, unit: float) -> float:
    """Returns what rounding may do to all tests of a round."""
    return ROUGH * unit * (law.case.num_speculative_tokens + 1)


def _rules(law: JointLaw, unit: float) -> list[Reading]:
    """Returns the rules of the catalogue that have this law: faults only if no lossless one has."""
    bound = _bound(law, unit) * law.case.vocab_size
    far = {id_: law.to_rule(id_) for id_ in rules_for(law.case)}
    same = [id_ for id_, distance in far.items() if distance <= bound]
    lossless = [id_ for id_ in same if RULES[id_].lossless]
    return [
        Reading(f"rule {id_}", f"has the law of {id_}, up to {far[id_]:.1e}", far[id_])
        for id_ in lossless or same
    ]
