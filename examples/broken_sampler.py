"""The same verifier with a common mistake: after a rejection it draws from the whole target row.

Tokens that the draft favours were already given their share by being accepted, so they come out
too often, although the acceptance rate is right. `draftproof run examples/broken_sampler.py:verify`
fails it.
"""

import torch


def verify(batch, generator):
    """Returns the emitted tokens, int64 [batch, gamma + 1], padded with -1."""
    drafted = batch.draft_token_ids  # [batch, gamma]
    rows, gamma = drafted.shape
    device = drafted.device

    p = batch.target_probs[:, :gamma].gather(2, drafted.unsqueeze(2)).squeeze(2)
    q = batch.draft_probs.gather(2, drafted.unsqueeze(2)).squeeze(2)
    coins = torch.rand(rows, gamma, generator=generator, device=device, dtype=torch.float64)
    accepted = (coins < p / q).long().cumprod(1).sum(1)  # [batch]

    # The mistake: the residual max(p - q, 0) belongs here where a token was rejected.
    weights = batch.target_probs[torch.arange(rows, device=device), accepted]
    last = torch.multinomial(weights, 1, generator=generator)  # [batch, 1]

    position = torch.arange(gamma + 1, device=device)
    tokens = torch.cat([drafted, last], dim=1)
    tokens = torch.where(position == accepted.unsqueeze(1), last, tokens)
    return torch.where(position <= accepted.unsqueeze(1), tokens, -1)
