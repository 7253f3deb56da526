"""Reads the law of one case, in this process."""

from __future__ import annotations

import torch

from audit.case import Case
from audit.errors import SamplerError
from audit.harness.null import handed_over
from audit.judgement.code_law import found_of
from audit.judgement.prepare import numerical_tolerance
from audit.laws.terms import Terms
from audit.samplers.batch import checksum_of, tensors
from audit.samplers.calling import emitted
from audit.samplers.command.sampler import CommandSampler
from audit.samplers.contract import explain
from audit.samplers.interface import LoadedSampler
from audit.settings import DTYPES
from audit.steered import Found, NotSteered
from audit.steering.blocks import Blocks
from audit.steering.steer import LARGEST_VOCABULARY, steer
from audit.steering.watching import own_streams

ROWS = 64


def read_case(sampler: LoadedSampler, case: Case, terms: Terms) -> Found:
    """Returns the law of a sampler on a case, or why there is none.

    Raises: SamplerError where the sampler raises or breaks its contract as it is.
    """
    if isinstance(sampler.call, CommandSampler):
        return Found(NotSteered("it is a program of its own, and only Python code is read"))
    dtype, device = DTYPES[terms.dtype], torch.device(terms.device)
    if case.vocab_size <= LARGEST_VOCABULARY:
        _call_plainly(sampler, Blocks.of(case, dtype=dtype, device=device), terms.seed)
    tolerance = terms.tolerance or _tolerance(case, dtype)
    found = steer(
        sampler,
        case,
        dtype=dtype,
        device=device,
        coupled=terms.rows,
        calls=terms.needed,
        delta=terms.delta,
        tolerance=tolerance,
        seconds=terms.longest,
        seed=terms.seed,
    )
    return found_of(
        found,
        case,
        dtype=dtype,
        tolerance=tolerance,
        claims=sampler.facts.claims,
        declares=(*sampler.facts.declares, *terms.declares),
    )


def _tolerance(case: Case, dtype: torch.dtype) -> float:
    """Returns what arithmetic may do to a whole round of a case."""
    tolerance = numerical_tolerance(handed_over(case, dtype), dtype)
    return tolerance * (case.num_speculative_tokens + 1)


def _call_plainly(sampler: LoadedSampler, blocks: Blocks, seed: int) -> None:
    """Calls the sampler once as it is: what fails here is no matter of steering.

    Raises: SamplerError.
    """
    rows = ROWS if sampler.facts.independent_rows else 1
    rows = min(rows, sampler.facts.max_batch or rows)
    batch = blocks.batch(blocks.tokens[torch.arange(rows) % len(blocks.tokens)])
    if sampler.facts.contiguous:
        batch = batch._replace(
            draft_probs=batch.draft_probs.contiguous(),
            target_probs=batch.target_probs.contiguous(),
        )
    before = checksum_of(*tensors(batch).values())
    with own_streams(seed):
        generator = torch.Generator(blocks.deck.device).manual_seed(seed)
        tokens = emitted(sampler, batch, generator)
    changed = (checksum_of(*tensors(batch).values()) != before).nonzero()
    if len(changed):
        name = list(tensors(batch))[int(changed[0])]
        raise SamplerError(f"{sampler.name} wrote into its input {name}; it must copy it.")
    if wrong := explain(batch, tokens):
        raise SamplerError(f"{sampler.name} broke its contract: {wrong}")
