"""An engine that drafts for itself, for `draftproof step examples/step_sampler.py:Engine`.

It is handed two models, callables on the tokens drafted so far, and keeps the two halves of a
round apart as engines do: `propose` drafts and says which rows the drafts come from, `verify`
accepts and recovers. Everything is drawn by exponential races, with noise of its own for every use.
"""

import torch


class Engine:
    """Drafts token by token and verifies by the ratio rule."""

    def propose(self, models, generator):
        drafted, rows = models.no_tokens(), []
        for _ in range(models.num_speculative_tokens):
            rows.append(models.draft(drafted).double())
            drafted = torch.cat([drafted, race(rows[-1], generator)], dim=1)
        return drafted, torch.stack(rows, dim=1)

    def verify(self, batch, generator):
        drafted, q, p = batch.draft_token_ids, batch.draft_probs, batch.target_probs.double()
        gamma, chosen = drafted.shape[1], drafted.unsqueeze(2)
        ratio = (p[:, :-1].gather(2, chosen) / q.gather(2, chosen)).squeeze(2)
        coins = torch.rand(drafted.shape, dtype=torch.float64, generator=generator)
        accepted = (coins < ratio).long().cumprod(1).sum(1, keepdim=True)
        padded_q = torch.nn.functional.pad(q, (0, 0, 0, 1))  # no draft stands before the bonus
        index = accepted.unsqueeze(2).expand(-1, 1, p.shape[2])
        last = race((p - padded_q).clamp(min=0).gather(1, index).squeeze(1), generator)
        position = torch.arange(gamma + 1)
        tokens = torch.nn.functional.pad(drafted, (0, 1)).scatter(1, accepted, last)
        return tokens.masked_fill(position > accepted, -1)


def race(weights, generator):
    """Returns one draw a row with these weights, int64 [batch, 1]."""
    noise = torch.empty_like(weights).exponential_(generator=generator)
    return (weights / noise).argmax(dim=1, keepdim=True)
