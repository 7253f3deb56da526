"""A speculative decoding verifier to start from: batched, in plain torch, correct.

`draftproof run my_sampler.py:verify` beside it audits it; then change it into your own.
"""

import torch


def verify(batch, generator):
    """Returns the emitted tokens, int64 [batch, gamma + 1], padded with -1."""
    drafted = batch.draft_token_ids  # [batch, gamma]
    rows, gamma = drafted.shape
    device = drafted.device

    # Accept each drafted token with probability p / q, up to the first rejection.
    p = batch.target_probs[:, :gamma].gather(2, drafted.unsqueeze(2)).squeeze(2)
    q = batch.draft_probs.gather(2, drafted.unsqueeze(2)).squeeze(2)
    coins = torch.rand(rows, gamma, generator=generator, device=device, dtype=torch.float64)
    accepted = (coins < p / q).long().cumprod(1).sum(1)  # [batch]

    # The last token comes from the residual of the rejected row, or from the bonus row.
    every = torch.arange(rows, device=device)
    last_target = batch.target_probs[every, accepted]
    last_draft = batch.draft_probs[every, accepted.clamp(max=gamma - 1)]
    residual = (last_target - last_draft).clamp(min=0)
    weights = torch.where((accepted < gamma).unsqueeze(1), residual, last_target)
    last = torch.multinomial(weights, 1, generator=generator)  # [batch, 1]

    # The accepted drafts, the last token, then -1.
    position = torch.arange(gamma + 1, device=device)
    tokens = torch.cat([drafted, last], dim=1)
    tokens = torch.where(position == accepted.unsqueeze(1), last, tokens)
    return torch.where(position <= accepted.unsqueeze(1), tokens, -1)


verify.draftproof = {"declares": ["ratio"]}
