"""A plain torch loop of speculative decoding that records its rounds for `draftproof trace`.

`log_round` is what a loop of your own needs; the rest shows where it is called.
"""

import json

import torch


def log_round(file, drafted, emitted, target_probs, draft_probs, **options):
    """Writes one verification round as a line of JSON.

    drafted [gamma] and emitted [1 to gamma + 1] are token ids; target_probs [gamma + 1, vocab] and
    draft_probs [gamma, vocab] are the laws after all sampling rules, as the verifier read them.
    """
    record = {
        "draft_token_ids": drafted.tolist(),
        "emitted_token_ids": emitted.tolist(),
        "target_probs": target_probs.tolist(),
        "draft_probs": draft_probs.tolist(),
    }
    file.write(json.dumps(record | options) + "\n")


def verify(drafted, target_probs, draft_probs):
    """Returns the emitted tokens: the accepted drafts, then a recovered or a bonus token."""
    for i, token in enumerate(drafted.tolist()):
        if torch.rand(()) * draft_probs[i, token] >= target_probs[i, token]:
            residual = (target_probs[i] - draft_probs[i]).clamp(min=0)
            return torch.cat([drafted[:i], torch.multinomial(residual, 1)])
    return torch.cat([drafted, torch.multinomial(target_probs[-1], 1)])


@torch.no_grad()
def generate(target, draft, tokens, *, rounds, gamma, temperature=1.0, file=None):
    """Returns the tokens after some rounds; target and draft map ids [n] to logits [n, vocab]."""
    for number in range(rounds):
        laws, longer = [], tokens
        for _ in range(gamma):
            laws.append((draft(longer)[-1] / temperature).softmax(-1))
            longer = torch.cat([longer, torch.multinomial(laws[-1], 1)])
        drafted, draft_probs = longer[len(tokens) :], torch.stack(laws)
        target_probs = (target(longer)[-gamma - 1 :] / temperature).softmax(-1)
        emitted = verify(drafted, target_probs, draft_probs)
        if file is not None:
            log_round(file, drafted, emitted, target_probs, draft_probs, position=number)
        tokens = torch.cat([tokens, emitted])
    return tokens
