"""The rules of the contract, each asked of a sampler in a few calls."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

import torch
from torch import Tensor

from audit.plural import counted
from audit.samplers.adapters.packages import Level
from audit.samplers.checking.calls import LENGTHS, apart, ends, moves_on, repeats, untouched, varies
from audit.samplers.checking.checker import Checker, Named
from audit.samplers.checking.report import ContractReport, Finding
from audit.samplers.checking.worlds import KINDS, World, shapes_for
from audit.samplers.client import WorkerSampler
from audit.samplers.interface import Batch, LoadedSampler
from audit.samplers.listing import levels_of
from audit.samplers.worker.stepping import has_halves
from audit.tree import Drafting, Tree

VOCABULARIES = (2, 3, 17, 1000)
DTYPES: Mapping[str, torch.dtype] = {
    "float32": torch.float32,
    "float64": torch.float64,
    "bfloat16": torch.bfloat16,
    "float16": torch.float16,
}


def check_contract(
    sampler: LoadedSampler,
    *,
    device: str = "cpu",
    seed: int = 0,
    dtypes: Sequence[str] = ("float32",),
) -> ContractReport:
    """Returns what comes of every rule; `dtypes` must be taken, of others it is told whether."""
    taken: set[str] = set(DTYPES)
    findings: list[Finding] = []
    for drafting in sampler.facts.drafts:
        checker = Checker(sampler, drafting, torch.device(device), seed)
        by_dtype = _dtypes(checker, dtypes)
        taken &= {name for name, finding in by_dtype.items() if finding.result == "kept"}
        found = [*by_dtype.values(), *_rules(checker)]
        found = found if checker.answered else _told_once(found)
        findings += [_of_trees(finding, drafting) for finding in found]
    return ContractReport(
        sampler.name,
        sampler.identity,
        sampler.facts,
        _levels(sampler),
        tuple(name for name in DTYPES if name in taken),
        tuple(findings),
    )


def _told_once(findings: Sequence[Finding]) -> list[Finding]:
    """Returns the findings where no call at all has succeeded: the first failure stands for all.

    Of the other rules nothing is known; they are not said to be broken.
    """
    first = next((finding for finding in findings if finding.result == "broken"), None)
    return [
        finding
        if finding is first or finding.result == "skipped"
        else Finding(finding.rule, "skipped", "no call succeeds")
        for finding in findings
    ]


def _levels(sampler: LoadedSampler) -> tuple[Level, ...]:
    """Returns the levels of a listed sampler; of a user's those that the object shows."""
    call = sampler.call
    halves = call.about["halves"] if isinstance(call, WorkerSampler) else has_halves(call)
    return levels_of(sampler.name) or (("verify", "step") if halves else ("verify",))


def _of_trees(finding: Finding, drafting: Drafting | None) -> Finding:
    """Returns a finding that says for which trees it holds, if for any."""
    return replace(finding, rule=f"{finding.rule} ({drafting} trees)") if drafting else finding


def _dtypes(checker: Checker, wanted: Sequence[str]) -> dict[str, Finding]:
    found = {}
    for name, dtype in DTYPES.items():
        batch = checker.made(replace(checker.world, dtype=dtype))
        finding = checker.kept(f"takes {name}", [("", batch)])
        unasked = finding.result == "broken" and name not in wanted
        found[name] = replace(finding, result="told") if unasked else finding
    return found


def _rules(checker: Checker) -> Iterator[Finding]:
    """Yields what comes of each rule, in the order in which one reads them."""
    world = checker.world
    worlds: dict[str, list[tuple[str, World]]] = {
        "rows a call": [(counted(n, "row"), replace(world, rows=n)) for n in checker.sizes],
        "drafts": [(_shape(s), replace(world, shape=s)) for s in shapes_for(checker.drafting)],
        "vocabularies": [(f"{size} ids", replace(world, vocab=size)) for size in VOCABULARIES],
    }
    worlds |= {kind: [("", replace(world, kinds=(kind,)))] for kind in KINDS if world.takes(kind)}
    for rule, named in worlds.items():
        yield checker.kept(rule, ((name, checker.made(one)) for name, one in named))
    if checker.drafting is None:
        yield _unequal(checker)
    yield checker.kept("layouts in memory", _layouts(checker))
    for rule, ask in (
        ("inputs are left alone", untouched),
        ("a rejected draft ends its row", ends),
        ("rows and positions are kept apart", apart),
        ("the same seed gives the same rows", repeats),
        ("other seeds give other rows", varies),
        ("a call moves its generator on", moves_on),
    ):
        yield checker.judged(rule, partial(ask, checker))


def _shape(shape: Tree) -> str:
    chain = shape.depth == shape.nodes
    return f"{shape.nodes} drafted" if chain else f"a tree with parents {list(shape.parents)}"


def _unequal(checker: Checker) -> Finding:
    rule = "rows of unequal draft length"
    if not checker.sampler.facts.ragged:
        return Finding(rule, "skipped", "it does not declare `ragged`")
    world = replace(checker.world, shape=Tree.chain(max(LENGTHS)), rows=max(checker.sizes))
    lengths = [LENGTHS[row % len(LENGTHS)] for row in range(world.rows)]
    return checker.kept(rule, [("", checker.made(replace(world, lengths=lengths)))])


def _layouts(checker: Checker) -> Named:
    """Yields a batch in several layouts; contiguous alone where the sampler wants that."""
    batch = checker.made(checker.world)
    yield "contiguous", batch
    if not checker.sampler.facts.contiguous:
        yield "repeated views of one row", _viewed(batch, lambda t: t[:1].expand_as(t))
        yield "every other row of more", _viewed(batch, lambda t: t.repeat_interleave(2, 0)[::2])
        yield "transposed", _viewed(batch, lambda t: t.transpose(0, 1).contiguous().transpose(0, 1))


def _viewed(batch: Batch, view: Callable[[Tensor], Tensor]) -> Batch:
    return batch._replace(
        draft_token_ids=view(batch.draft_token_ids),
        draft_probs=view(batch.draft_probs),
        target_probs=view(batch.target_probs),
    )
