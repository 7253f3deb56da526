"""One round of two models, `step(target, draft, prefix, gamma) -> new tokens`, ready to audit.

draftproof state examples/two_model_step.py:decode
draftproof step examples/two_model_step.py:propose
"""

import torch

from audit.samplers.two_model import decoder_of, step_sampler_of


def step(target, draft, prefix, gamma):
    """Replace this by the function of your package; target and draft are (ids) -> logits."""
    text, q = prefix, []
    for _ in range(gamma):
        q.append(draft(text)[-1].softmax(-1))
        text = torch.cat([text, torch.multinomial(q[-1], 1)])
    p = target(text)[len(prefix) - 1 :].softmax(-1)
    drafted = text[len(prefix) :]
    for i, token in enumerate(drafted):
        if torch.rand(()) * q[i][token] >= p[i, token]:
            recovered = torch.multinomial((p[i] - q[i]).clamp(min=0), 1)
            return torch.cat([drafted[:i], recovered])
    return torch.cat([drafted, torch.multinomial(p[gamma], 1)])


decode = decoder_of(step)
propose = step_sampler_of(step, declares=("ratio",))
