"""A verifier of draft trees to start from: recursive rejection in plain torch, correct.

Audit it with `draftproof run examples/my_tree_sampler.py:verify`, then change it into your own.
"""

import torch


def verify(batch, generator):
    """Returns the emitted tokens, int64 [batch, depth + 1], padded with -1."""
    drafted, parents = batch.draft_token_ids, batch.parents.tolist()
    rows, nodes = drafted.shape
    every = torch.arange(rows, device=drafted.device)
    levels = [0]  # of the start and of every node; a parent comes before its children
    for parent in parents:
        levels.append(levels[parent + 1] + 1)

    # Every row stands at its last accepted node, -1 at the start. Its siblings' test rows are what
    # the target still owes there: the target row, then the residual after each rejection.
    at = torch.full_like(drafted[:, 0], -1)
    accepted = torch.zeros_like(at)
    owed = batch.target_probs[:, 0].double()
    emitted = torch.full((rows, max(levels) + 1), -1, device=drafted.device)
    coins = torch.rand(
        rows, nodes, generator=generator, device=generator.device, dtype=torch.float64
    )
    for node, parent in enumerate(parents):
        token, draft_row = drafted[:, node], batch.draft_probs[:, node].double()
        passes = coins[:, node] < owed[every, token] / draft_row[every, token]
        accept, reject = (at == parent) & passes, (at == parent) & ~passes
        residual = (owed - draft_row).clamp(min=0)
        residual = residual / residual.sum(1, keepdim=True)
        owed = torch.where(reject.unsqueeze(1), residual, owed)
        owed = torch.where(accept.unsqueeze(1), batch.target_probs[:, node + 1].double(), owed)
        at = torch.where(accept, node, at)
        accepted = torch.where(accept, levels[node + 1], accepted)
        emitted[every[accept], levels[parent + 1]] = token[accept]

    # The last token comes from what is owed where the row stands.
    emitted[every, accepted] = torch.multinomial(owed, 1, generator=generator).squeeze(1)
    return emitted


verify.draftproof = {"declares": ["recursive-rejection"], "trees": ["independent"]}
