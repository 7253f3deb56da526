"""yunshu's acceptance of drafts, one row a call: it is told q at the drafted tokens alone.

Coins come from its own Python generator and tokens from MLX's global one; both are seeded once
for each call of ours, from our generator. The package asks for a newer Python than this part of
it needs, so that pip must be told to look away.
"""

from __future__ import annotations

import torch
from torch import Tensor

from audit.samplers.adapters.packages import YUNSHU as PACKAGE
from audit.samplers.adapters.target import Target
from audit.samplers.batch import log_probs, seed_from
from audit.samplers.chain import emit
from audit.samplers.interface import Facts, Sampler, StepBatch

_MODULE = "yunshu_engine.spec_draft_verifier"


def probabilistic_accept() -> Sampler:
    """Returns `_probabilistic_accept` as a sampler."""
    names = ("target_logprobs", "draft_ids", "draft_logprobs", "K")
    accept = PACKAGE.function(_MODULE, "_probabilistic_accept", names)
    coins = PACKAGE.get(_MODULE, "_prob_rng")
    mlx = PACKAGE.get(_MODULE, "mx")

    def verify(batch: StepBatch, generator: torch.Generator) -> Tensor:
        ids, lengths = batch.draft_token_ids, batch.num_draft_tokens.tolist()
        q = log_probs(batch.draft_probs).gather(2, ids.clamp(min=0).unsqueeze(2)).squeeze(2)
        target = log_probs(batch.target_probs)
        seed = seed_from(generator)
        coins.seed(seed)
        mlx.random.seed(seed)
        found = []
        for row, gamma in enumerate(lengths):
            p = mlx.array(target[row, : gamma + 1].numpy())
            drafted, laws = ids[row, :gamma].tolist(), q[row, :gamma].tolist()
            accepted, _, token = accept(p, drafted, laws, gamma)
            found.append((len(accepted), token))
        n, last = torch.tensor(found).unbind(1)
        return emit(ids, n, last)

    return verify


TARGETS = (
    Target(
        name="yunshu",
        package=PACKAGE,
        calls="yunshu_engine.spec_draft_verifier._probabilistic_accept",
        reads="log-probabilities, float32",
        draft_law="at the drafted tokens",
        drafts="drawn by the harness",
        bonus="included",
        randomness="private Python generator, MLX's global one",
        facts=Facts(ragged=True, max_batch=256, in_process=True),
        load=probabilistic_accept,
    ),
)
