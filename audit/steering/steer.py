"""Reads the law of a sampler on a case: searches its map, proves it, and says what it amounts to.

It works in this process, on a CPU, over a small vocabulary; elsewhere, and for samplers whose
randomness cannot be taken over, the answer is `NotSteerable` and its reason.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from fractions import Fraction

import torch

from audit.case import Case
from audit.harness.schedule import automatic_batch_size
from audit.samplers.client import WorkerSampler
from audit.samplers.interface import LoadedSampler, Sampler
from audit.samplers.registry import wrap_sampler
from audit.steering.blocks import EXCEPTION, Blocks
from audit.steering.coupling import couple
from audit.steering.draws import UnsteerableError
from audit.steering.edges import mapped_edges, surprising_edges, tried_edges
from audit.steering.explore import explore
from audit.steering.grids import Uniform
from audit.steering.law import RAISED, JointLaw, Masses
from audit.steering.layout import Batched, Looped, Mode, Single
from audit.steering.map import Node, Split
from audit.steering.modes import confirm, settle, unsteady
from audit.steering.probing import Prober
from audit.steering.reading import Reading, read
from audit.steering.result import Asked, NotSteerable, SteeredLaw
from audit.steering.searching import LEAN, Effort
from audit.steering.twice import used_twice
from audit.steering.watching import COMPILED, compiled_frames, is_compiled

LARGEST_VOCABULARY = 64
COUPLED: Mapping[type[Mode], int] = {Batched: 700_000, Looped: 70_000, Single: 70_000}
PILOT: Mapping[type[Mode], int] = {Batched: 200_000, Looped: 2_000, Single: 1_000}
REFINEMENTS = 3
HINTS = 6  # rows that were not foretold, taken as hints at once
Coupled = int | Callable[[float], int]  # rows, or what tells them from the rows a second
SHORT = (torch.bfloat16, torch.float16)


def steer(
    sampler: LoadedSampler | Sampler,
    case: Case,
    *,
    dtype: torch.dtype = torch.float32,
    device: torch.device | str = "cpu",
    coupled: Coupled | None = None,
    calls: int = 1,
    delta: float = 1e-3,
    tolerance: float | None = None,
    seconds: float = math.inf,
    seed: int = 0,
) -> SteeredLaw | NotSteerable:
    """Returns the law of a sampler on a case, or why it cannot be read off.

    dtype: of the rows handed over. coupled: fresh rows of the proof, fixed before the first of
    them, or what tells it from the rows a second of the search; by default as many as about a
    minute allows. calls: the fewest that these rows are spread over, if there are as many. delta:
    how often the bound of the proof may be wrong. tolerance: what arithmetic may do to a whole
    round, by default that of the dtype. seconds: how long it may take; what takes longer has no
    law.

    Raises: SamplerError where the sampler breaks its contract.
    """
    loaded = sampler if isinstance(sampler, LoadedSampler) else wrap_sampler(sampler)
    refused = _refusal(loaded, case, torch.device(device))
    if refused:
        return NotSteerable(refused, Asked(0, 0))
    blocks = Blocks.of(case, dtype=dtype, device=torch.device(device))
    untouched = blocks.checksums()
    size = automatic_batch_size(case.vocab_size, case.num_speculative_tokens)
    prober = Prober(loaded, blocks, seed, min(size, loaded.facts.max_batch or size))
    prober.deadline = time.monotonic() + seconds
    allowed = tolerance or (1e-3 if dtype in SHORT else 1e-6)
    found = _watched(prober, coupled, calls, delta, allowed)
    blocks.check(untouched)
    return found


def _watched(
    prober: Prober, coupled: Coupled | None, calls: int, delta: float, tolerance: float
) -> SteeredLaw | NotSteerable:
    """Returns the law, or why there is none; what torch compiles meanwhile has none."""
    before = compiled_frames()
    try:
        with prober.watching():
            settle(prober)
            if compiled_frames() > before:
                raise UnsteerableError(COMPILED)
            return _steered(prober, coupled, calls, delta, tolerance)
    except UnsteerableError as error:
        why = COMPILED if compiled_frames() > before else str(error)
        return NotSteerable(why, Asked(prober.calls, prober.rows))


def _refusal(sampler: LoadedSampler, case: Case, device: torch.device) -> str:
    if isinstance(sampler.call, WorkerSampler):
        return "it runs in a worker process, where its random numbers cannot be taken over yet"
    if device.type != "cpu":
        return f"what the random operations of a {device.type} device can return is not known here"
    if case.vocab_size > LARGEST_VOCABULARY:
        return f"{case.vocab_size} ids are more than the {LARGEST_VOCABULARY} that it explores"
    if is_compiled(sampler.call):
        return COMPILED
    return ""


def _steered(
    prober: Prober, coupled: Coupled | None, calls: int, delta: float, tolerance: float
) -> SteeredLaw:
    maps, rows = _mapped(prober, coupled or COUPLED[type(prober.mode)])
    search = Asked(prober.calls, prober.rows)
    coupling, missed = couple(prober, maps, rows=rows, calls=calls, delta=delta, purpose="proof")
    law = law_of(prober.blocks, maps)
    edges = (
        *surprising_edges(prober, missed, coupling, tolerance=tolerance),
        *mapped_edges(prober, maps, tolerance=tolerance),
        *tried_edges(prober),
    )
    return SteeredLaw(
        law=law,
        generators=_hidden(prober.blocks, maps),
        coupling=coupling,
        search=search,
        mode=type(prober.mode).__name__,
        edges=edges,
        readings=_readings(prober, maps, law, tolerance),
    )


def maps_of(prober: Prober) -> dict[int, Node]:
    """Returns the maps of all blocks of a prober that has settled.

    Raises: UnsteerableError, for rows that differ under the same numbers if there are any.
    """
    return _mapped(prober, COUPLED[type(prober.mode)])[0]


def _mapped(prober: Prober, coupled: Coupled) -> tuple[dict[int, Node], int]:
    """Returns the maps of all blocks, and how many rows are to prove them."""
    try:
        return _refined(prober, Effort() if _cheap(prober) else LEAN, coupled)
    except UnsteerableError as error:
        raise UnsteerableError(unsteady(prober) or str(error)) from error


def _cheap(prober: Prober) -> bool:
    """Returns whether rows cost little: a call takes any number and draws for all of them."""
    return isinstance(prober.mode, Batched) and prober.sampler.facts.max_batch is None


def _refined(prober: Prober, effort: Effort, coupled: Coupled) -> tuple[dict[int, Node], int]:
    """Returns the maps, searched again with hints where pilot rows are not foretold, and the rows
    of their proof; a pilot is never longer than that.
    """
    begun, before = time.monotonic(), prober.rows
    maps = explore(prober, effort, range(len(prober.blocks.chances)))
    speed = (prober.rows - before) / (time.monotonic() - begun)
    rows = coupled(speed) if callable(coupled) else coupled
    pilot = min(rows, PILOT[type(prober.mode)] if _cheap(prober) else PILOT[Looped])
    for attempt in range(REFINEMENTS):
        _, missed = couple(prober, maps, rows=pilot, calls=1, delta=0.5, purpose=f"pilot {attempt}")
        told = missed.without_exceptions()
        if not len(told):
            break
        confirm(prober, told)
        prober.probes.hint(told.answer.coins[:HINTS])
        maps = explore(prober, effort, range(len(prober.blocks.chances)))
    return maps, rows


def law_of(blocks: Blocks, maps: Mapping[int, Node]) -> JointLaw:
    """Returns the law that the maps of all blocks amount to."""

    def outcomes(node: Node) -> Masses:
        found: dict[tuple[int, ...], Fraction] = {}
        for code, mass in node.law.items():
            outcome = RAISED if code == EXCEPTION else blocks.outcome(code)
            found[outcome] = found.get(outcome, Fraction(0)) + mass
        return found

    by_block = {block: outcomes(maps[i]) for i, block in enumerate(blocks.chances)}
    return JointLaw(blocks.case, blocks.chances, by_block)


def _hidden(blocks: Blocks, maps: Mapping[int, Node]) -> float:
    """Returns how far the random numbers may be from the laws that the maps are read with."""
    chances = zip(blocks.chances.values(), range(len(blocks.chances)), strict=True)
    return sum(float(chance) * maps[number].hidden for chance, number in chances)


def _readings(
    prober: Prober, maps: Mapping[int, Node], law: JointLaw, tolerance: float
) -> tuple[Reading, ...]:
    """Returns what the law tells, and where it is not the target's, what the map tells."""
    nodes = [node for top in maps.values() for node in top.nodes() if isinstance(node, Split)]
    bits = min([node.grid.bits for node in nodes if isinstance(node.grid, Uniform)], default=53)
    found = read(law, bits=bits, dtype=prober.blocks.deck.target_rows.dtype)
    if law.to_target <= tolerance:
        return found
    far = float(law.to_target)
    twice = (Reading("used twice", says, far) for says in used_twice(prober, maps))
    return (*found, *twice)
