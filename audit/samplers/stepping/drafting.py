"""Halves that propose: the right one, and the ways in which a claimed q is not the drafts' law.

Each drafts token by token from the draft model and returns (draft_token_ids, claimed rows). Those
whose id stands in the catalogue are its rule on the drafting side, as real code.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import torch
from torch import Tensor

from audit.samplers.race import exponential, first_through
from audit.samplers.rowwise import as_they_are, most_probable, normalised, tempered, top
from audit.samplers.stepping.interface import Models, Proposer

Processing = Callable[[Tensor], Tensor]
Context = Callable[[Tensor], Tensor]
BEAMS = 4
MAP_SHIFT = 1  # of the ids of a draft vocabulary that nobody maps back


def everything(drafted: Tensor) -> Tensor:
    """Returns the drafted tokens: the context that a row should have."""
    return drafted


def nothing(drafted: Tensor) -> Tensor:
    """Returns no token of them: the context of the first position."""
    return drafted[:, :0]


def all_but_last(drafted: Tensor) -> Tensor:
    """Returns the context of the position before."""
    return drafted[:, :-1]


def autoregressive(
    models: Models,
    generator: torch.Generator,
    *,
    drawn: Processing = as_they_are,
    claimed: Processing = as_they_are,
    context: Context = everything,
    recorded: Context = everything,
) -> tuple[Tensor, Tensor]:
    """Returns gamma drafts, one after another, and the rows that are claimed.

    As it stands: each is a draw from the draft model's row, which is claimed. drawn and claimed:
    what is made of the row before the draw and for the claim; context and recorded: the tokens
    after which the row is taken for either.
    """
    drafted, rows = models.no_tokens(), list[Tensor]()
    for _ in range(models.num_speculative_tokens):
        rows.append(claimed(models.draft(recorded(drafted)).double()))
        token = multinomial(drawn(models.draft(context(drafted)).double()), generator)
        drafted = torch.cat([drafted, token], 1)
    return drafted, torch.stack(rows, 1)


def multinomial(rows: Tensor, generator: torch.Generator) -> Tensor:
    """Returns one draw a row, int64 [batch, 1], from rows [batch, vocab] of any sum."""
    return torch.multinomial(rows, 1, generator=generator)


def damaged_in_place(models: Models, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Returns draws by an exponential race that is run within the claimed rows, and these after it.

    They are normalised, as they need not be elsewhere.
    """
    drafted, rows = models.no_tokens(), list[Tensor]()
    for _ in range(models.num_speculative_tokens):
        row = models.draft(drafted).double()
        row.div_(noise_for(row, generator))
        rows.append(normalised(row))
        drafted = torch.cat([drafted, row.argmax(1, keepdim=True)], 1)
    return drafted, torch.stack(rows, 1)


def raced(models: Models, generator: torch.Generator) -> tuple[Tensor, Tensor, Tensor]:
    """Returns drafts by exponential races, their rows, and the noise [batch, gamma, vocab]."""
    drafted, rows, raced_by = models.no_tokens(), list[Tensor](), list[Tensor]()
    for _ in range(models.num_speculative_tokens):
        rows.append(models.draft(drafted).double())
        raced_by.append(noise_for(rows[-1], generator))
        token = first_through(rows[-1], raced_by[-1])
        drafted = torch.cat([drafted, token.unsqueeze(1)], 1)
    return drafted, torch.stack(rows, 1), torch.stack(raced_by, 1)


def noise_for(rows: Tensor, generator: torch.Generator) -> Tensor:
    """Returns exponential noise of rate 1 in the shape of the rows, float64."""
    return exponential(coins_for(rows, generator))


def coins_for(rows: Tensor, generator: torch.Generator) -> Tensor:
    """Returns coins in [0, 1) in the shape of the rows, float64."""
    return torch.rand(rows.shape, dtype=torch.float64, generator=generator, device=rows.device)


def beam(models: Models, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Returns the likeliest block that a beam search finds, and the soft rows along it."""
    paths = models.no_tokens().unsqueeze(1)  # [batch, beams, tokens]
    scores = torch.zeros(models.batch_size, 1, dtype=torch.float64, device=models.device)
    for _ in range(models.num_speculative_tokens):
        width = paths.shape[1]
        after = torch.stack([models.draft(paths[:, i]) for i in range(width)], 1).double()
        joint = (scores.unsqueeze(2) + after.log()).flatten(1)
        scores, best = joint.topk(min(BEAMS, joint.shape[1]), 1)
        parent, token = best // models.vocab_size, best % models.vocab_size
        kept = paths.gather(1, parent.unsqueeze(2).expand(-1, -1, paths.shape[2]))
        paths = torch.cat([kept, token.unsqueeze(2)], 2)
    drafted = paths[:, 0]
    rows = [models.draft(drafted[:, :i]) for i in range(models.num_speculative_tokens)]
    return drafted, torch.stack(rows, 1)


def map_lost(models: Models, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Returns drafts under ids of another vocabulary than the claimed rows are in."""
    drafted, rows = models.no_tokens(), list[Tensor]()
    for _ in range(models.num_speculative_tokens):
        row = models.draft(drafted).double()
        token = (multinomial(row, generator) + MAP_SHIFT) % models.vocab_size
        rows.append(row)
        drafted = torch.cat([drafted, token], 1)
    return drafted, torch.stack(rows, 1)


def rows_reordered(models: Models, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Returns right drafts, the claimed rows of the batch in reverse order."""
    drafted, rows = autoregressive(models, generator)
    return drafted, rows.flip(0)


def in_bfloat16(rows: Tensor) -> Tensor:
    """Returns the rows as logits in bfloat16 give them."""
    return rows.log().bfloat16().double().softmax(-1)


def unclaimed(models: Models, generator: torch.Generator, *, by: Proposer) -> tuple[Tensor, None]:
    """Returns the drafts of a proposer without the rows."""
    return by(models, generator)[0], None


DRAFTS: Mapping[str, Proposer] = {
    "sampled": autoregressive,
    "raced": lambda models, generator: raced(models, generator)[:2],
    "argmax-draft": partial(autoregressive, drawn=most_probable),
    "draft-temperature-mismatch": partial(autoregressive, claimed=tempered(0.5)),
    "draft-top-2-not-recorded": partial(autoregressive, drawn=top(2)),
    "draft-top-2-only-recorded": partial(autoregressive, claimed=top(2)),
    "drafting-context-frozen": partial(autoregressive, context=nothing),
    "draft-record-frozen": partial(autoregressive, recorded=nothing),
    "draft-record-late": partial(autoregressive, recorded=all_but_last),
    "draft-rows-damaged": damaged_in_place,
    "draft-rows-reordered": rows_reordered,
    "draft-in-bfloat16": partial(autoregressive, drawn=in_bfloat16),
    "draft-map-lost": map_lost,
    "beam-draft": beam,
}
