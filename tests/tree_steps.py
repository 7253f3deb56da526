"""TreeBatches made straight from a case, without the harness, for the tests of samplers."""

from __future__ import annotations

import torch
from steps import table

from audit.case import Case
from audit.samplers.interface import TreeBatch
from audit.tree import ROOT, Tree


def tree_batch(
    case: Case, rows: int, generator: torch.Generator, dtype: torch.dtype = torch.float64
) -> TreeBatch:
    """Returns independent drafts of a case with a tree, and the rows at every node."""
    tree, size = case.tree, case.vocab_size
    assert tree is not None
    code = {ROOT: torch.zeros(rows, dtype=torch.int64)}
    tokens, draft = [], []
    target = [table(case, case.target, 0)[code[ROOT]]]
    for node, parent in enumerate(tree.parents):
        draft.append(table(case, case.draft, tree.level(parent))[code[parent]])
        elder = [tokens[i] for i in tree.children(parent) if i < node]
        tokens.append(_drawn(draft[-1], elder, tree, generator))
        code[node] = code[parent] * size + tokens[-1]
        target.append(table(case, case.target, tree.level(node))[code[node]])
    return TreeBatch(
        torch.stack(tokens, 1),
        torch.tensor(tree.parents),
        torch.stack(draft, 1).to(dtype),
        torch.stack(target, 1).to(dtype),
    )


def _drawn(
    row: torch.Tensor, elder: list[torch.Tensor], tree: Tree, generator: torch.Generator
) -> torch.Tensor:
    """Returns one token a row, after its elder siblings were drawn from the same row."""
    if tree.drafting == "fixed":
        return row.sort(dim=1, descending=True, stable=True).indices[:, len(elder)]
    if tree.drafting == "distinct":
        for token in elder:
            row = row.scatter(1, token.unsqueeze(1), 0.0)
    return torch.multinomial(row, 1, generator=generator).squeeze(1)
