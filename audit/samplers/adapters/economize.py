"""economize's verifier of sampled drafts: whole batches, single rows, and trees.

It draws from the private generator of the selector it is handed: the package's own, at
temperature 1 and without a nucleus, seeded anew for each call of ours from our generator. Logits
are the logarithms of the float32 probabilities.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor

from audit.samplers.adapters.packages import ECONOMIZE as PACKAGE
from audit.samplers.adapters.target import Target
from audit.samplers.batch import log_probs, seed_from
from audit.samplers.chain import emit
from audit.samplers.interface import Facts, Sampler, StepBatch, TreeBatch
from audit.samplers.rowwise import normalised
from audit.samplers.trees.walk import emit_path, shape_of
from audit.tree import ROOT, Drafting, Tree

_PREFIX = ("self", "logits")
_ROW = (*_PREFIX, "drafts", "probs", "selector", "history", "end")
_BATCH = (*_PREFIX, "draft", "selector", "seq", "ends")
_TREE = (*_PREFIX, "draft", "selector")


def _made(method: str, parameters: tuple[str, ...]) -> tuple[Callable[..., Any], Any, Any]:
    """Returns a method of a RejectionVerifier, the class of drafts, and that of selectors."""
    verifier = PACKAGE.function("economize.decoding.verifiers", "RejectionVerifier", ["config"])
    PACKAGE.checked(getattr(verifier, method, None), f"RejectionVerifier.{method}", parameters)
    draft = PACKAGE.function(
        "economize.decoding.protocols", "Draft", ("tokens", "lengths"), ("parents", "probs")
    )
    selector = PACKAGE.function("economize.decoding.selectors", "TopPSampler", keywords=["seed"])
    config = PACKAGE.function("economize.decoding.config", "DecodeConfig", keywords=["verifier"])
    return getattr(verifier(config(verifier="rejection")), method), draft, selector


def verify_batch(*, handed: bool) -> Sampler:
    """Returns `verify_batch` as a sampler. handed: whether it is told the law of the drafts."""
    method, draft_of, selector_of = _made("verify_batch", _BATCH)

    def verify(batch: StepBatch, generator: torch.Generator) -> Tensor:
        ids, lengths = batch.draft_token_ids, batch.num_draft_tokens.tolist()
        draft = draft_of(ids, lengths, probs=batch.draft_probs.float() if handed else None)
        selector = selector_of(seed=seed_from(generator))
        ends = [1] * len(ids)
        n, token = method(log_probs(batch.target_probs), draft, selector, ids[:, :1], ends)
        return emit(ids, n, token)

    return verify


def verify_rows() -> Sampler:
    """Returns `verify`, one row a call, as a sampler."""
    method, _, selector_of = _made("verify", _ROW)

    def verify(batch: StepBatch, generator: torch.Generator) -> Tensor:
        ids, target = batch.draft_token_ids, log_probs(batch.target_probs)
        selector, found = selector_of(seed=seed_from(generator)), []
        for row, length in enumerate(batch.num_draft_tokens.tolist()):
            drafts, probs = ids[row, :length], batch.draft_probs[row, :length].float()
            found.append(method(target[row], drafts.tolist(), probs, selector, ids[row], 1))
        n, token = torch.tensor(found, device=ids.device).unbind(1)
        return emit(ids, n, token)

    return verify


def verify_tree(drafting: Drafting) -> Sampler:
    """Returns `verify_tree` as a sampler of trees whose siblings are drawn in this way."""
    method, draft_of, selector_of = _made("verify_tree", _TREE)

    def verify(batch: TreeBatch, generator: torch.Generator) -> Tensor:
        ids, tree = batch.draft_token_ids, shape_of(batch)
        draft = draft_of(
            ids,
            [tree.nodes] * len(ids),
            parents=batch.parents.expand(len(ids), -1),
            probs=None if drafting == "fixed" else _rows_drawn_from(batch, tree, drafting),
        )
        selector = selector_of(seed=seed_from(generator))
        paths, token = method(log_probs(batch.target_probs), draft, selector)
        ends = [path[-1] if path else ROOT for path in paths]
        at, last = (torch.tensor(one, device=ids.device) for one in (ends, token))
        return emit_path(batch, tree, at, last)

    return verify


def _rows_drawn_from(batch: TreeBatch, tree: Tree, drafting: Drafting) -> Tensor:
    """Returns the law of every node given its elder siblings, float32 [batch, nodes, vocab]."""
    if drafting == "independent":
        return batch.draft_probs.float()
    rows = []
    for node in range(tree.nodes):
        elder = batch.draft_token_ids[:, list(tree.elder(node))]
        rows.append(normalised(batch.draft_probs[:, node].double().scatter(1, elder, 0.0)))
    return torch.stack(rows, 1).float()


def _target(name: str, method: str, law: str, facts: Facts, load: Callable[[], Any]) -> Target:
    return Target(
        name=name,
        package=PACKAGE,
        calls=f"decoding.verifiers.RejectionVerifier.{method}",
        reads="logits, float32",
        draft_law=law,
        drafts="drawn by the harness",
        bonus="included",
        randomness="private, seeded",
        facts=facts,
        load=load,
    )


def _tree_facts(rule: str, drafting: Drafting) -> Facts:
    return Facts(declares=(rule,), trees=(drafting,), max_batch=256, in_process=True)


_CHAIN = Facts(declares=("ratio",), ragged=True, in_process=True)
_FIXED = Facts(declares=("point-mass",), ragged=True, in_process=True)
_ROWS = Facts(declares=("ratio",), ragged=True, max_batch=256, in_process=True)
_TREES: tuple[tuple[str, Drafting], ...] = (
    ("recursive-rejection", "independent"),
    ("recursive-rejection-distinct", "distinct"),
    ("target-only", "fixed"),
)
TARGETS = (
    _target("economize", "verify_batch", "dense", _CHAIN, partial(verify_batch, handed=True)),
    _target(
        "economize-one-hot", "verify_batch", "none", _FIXED, partial(verify_batch, handed=False)
    ),
    _target("economize-row", "verify", "dense", _ROWS, verify_rows),
    *(
        _target(
            f"economize-tree-{drafting}",
            "verify_tree",
            "none" if drafting == "fixed" else "dense, given the elder siblings",
            _tree_facts(rule, drafting),
            partial(verify_tree, drafting),
        )
        for rule, drafting in _TREES
    ),
)
