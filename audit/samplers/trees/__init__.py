"""Rules that verify draft trees, right and wrong, as torch functions, by the catalogue's ids.

Each sees a TreeBatch and a generator only; the exact laws of the same ids stand in
`audit.exact.trees`, by the same subjects. `PARAMETRIC` makes the function of an entry at any
constant, which `audit.samplers.faults` lists at the catalogue's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from audit.samplers.interface import Sampler
from audit.samplers.trees import k_seq, recursive, target_only, traversal

RULES: Mapping[str, Sampler] = {
    **recursive.RULES,
    **target_only.RULES,
    **k_seq.RULES,
    **traversal.RULES,
}

FAULTS: Mapping[str, Sampler] = {
    **recursive.FAULTS,
    **target_only.FAULTS,
    **traversal.FAULTS,
}

PARAMETRIC: Mapping[str, Callable[[float], Sampler]] = {
    **target_only.PARAMETRIC,
    **k_seq.PARAMETRIC,
}
