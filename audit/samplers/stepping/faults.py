"""Step samplers whose draft, coin and recovered token share random numbers.

Their claim is right, and so is their verifying half on drafts that it has not drawn itself; only
together are they wrong, so that a harness which draws the drafts never sees it. The ids are those
of the catalogue.

References: algorithms R04 and R05 of the catalogue; vllm #47386 and #54282.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch
from torch import Tensor

from audit.samplers.chain import draw, open_position, row, toss, verified
from audit.samplers.interface import StepBatch
from audit.samplers.race import first_through
from audit.samplers.stepping.drafting import coins_for, noise_for, raced
from audit.samplers.stepping.interface import Models


class NoiseReused:
    """Recovers a token by the noise of the race that drew the rejected one."""

    def __init__(self) -> None:
        self._noise: Tensor | None = None

    def propose(self, models: Models, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """Returns drafts by races, and their rows; the noise is kept."""
        drafted, claimed, self._noise = raced(models, generator)
        return drafted, claimed

    def verify(self, batch: StepBatch, generator: torch.Generator) -> Tensor:
        """Returns the tokens of the ratio rule."""
        kept, self._noise = self._noise, None
        noise = noise_for(batch.draft_probs, generator) if kept is None else kept
        coins = toss(batch, batch.draft_token_ids.shape[1] + 1, generator)

        def race(weights: Tensor, coins: Tensor, n: Tensor) -> Tensor:
            again = first_through(weights, row(noise, open_position(batch, n)))
            return torch.where(n < batch.num_draft_tokens, again, draw(weights, coins[:, -1]))

        return verified(batch, coins, select=race)


class CoinReused:
    """Tests every draft with the uniform that drew it."""

    def __init__(self) -> None:
        self._coins: Tensor | None = None

    def propose(self, models: Models, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """Returns drafts by inverse CDF, and their rows; the uniforms are kept."""
        drafted, rows, coins = models.no_tokens(), list[Tensor](), list[Tensor]()
        for _ in range(models.num_speculative_tokens):
            rows.append(models.draft(drafted).double())
            coins.append(coins_for(rows[-1][:, :1], generator))
            token = draw(rows[-1], coins[-1][:, 0])
            drafted = torch.cat([drafted, token.unsqueeze(1)], 1)
        self._coins = torch.cat(coins, 1)
        return drafted, torch.stack(rows, 1)

    def verify(self, batch: StepBatch, generator: torch.Generator) -> Tensor:
        """Returns the tokens of the ratio rule."""
        kept, self._coins = self._coins, None
        fresh = toss(batch, batch.draft_token_ids.shape[1] + 1, generator)
        coins = fresh if kept is None else torch.cat([kept, fresh[:, -1:]], 1)
        return verified(batch, coins)


FAULTS: Mapping[str, Callable[[], NoiseReused | CoinReused]] = {
    "drafting-noise-reused": NoiseReused,
    "drafting-coin-reused": CoinReused,
}
