"""The faults as torch functions: the chain of `audit.samplers.chain` with one step done wrong.

Ids and what they mean are the catalogue's; the exact laws of the same ids stand in
`audit.exact.faults`, by the same subjects. Rows are float64 [batch, vocab], `rejected` is the
rejected token, [batch, 1].
"""

from __future__ import annotations

from collections.abc import Mapping

from audit.samplers.faults import acceptance, blocks, drafting, fallback, randomness, stages
from audit.samplers.interface import Sampler

FAULTS: Mapping[str, Sampler] = {
    **fallback.FAULTS,
    **acceptance.FAULTS,
    **stages.FAULTS,
    **randomness.FAULTS,
    **blocks.FAULTS,
    **drafting.FAULTS,
}
