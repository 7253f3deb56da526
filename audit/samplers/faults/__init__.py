"""The faults as torch functions: the chain of `audit.samplers.chain` with one step done wrong.

Ids, constants and what they mean are the catalogue's; the exact laws of the same ids stand in
`audit.exact.faults`, by the same subjects. Rows are float64 [batch, vocab], `rejected` is the
rejected token, [batch, 1]. `PARAMETRIC` makes the function of an entry at any constant, `FAULTS`
holds every fault at the constant that the catalogue lists.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from audit.exact.catalogue import RULES
from audit.samplers import trees
from audit.samplers.faults import (
    acceptance,
    block_verification,
    blocks,
    declared,
    drafting,
    fallback,
    lossy,
    randomness,
    stages,
    thresholds,
)
from audit.samplers.interface import Sampler

PARAMETRIC: Mapping[str, Callable[[float], Sampler]] = {
    **fallback.PARAMETRIC,
    **acceptance.PARAMETRIC,
    **thresholds.PARAMETRIC,
    **stages.PARAMETRIC,
    **drafting.PARAMETRIC,
    **lossy.PARAMETRIC,
    **declared.PARAMETRIC,
    **trees.PARAMETRIC,
}

FAULTS: Mapping[str, Sampler] = {
    **fallback.FAULTS,
    **acceptance.FAULTS,
    **randomness.FAULTS,
    **blocks.FAULTS,
    **block_verification.FAULTS,
    **drafting.FAULTS,
    **trees.FAULTS,
    **{
        id_: make(float(parameter.value))
        for id_, make in PARAMETRIC.items()
        if (parameter := RULES[id_].parameter) and not RULES[id_].lossless
    },
}
