"""transformers' own decode loop in the forms of its assisted generation, through `generate`.

- `assistant`: a draft model with the target's vocabulary, the ratio rule;
- `prompt-lookup`: drafts from the text, verified by drawing from the target and comparing;
- `other-tokenizer`: a draft model with another vocabulary. Sampling runs its universal speculative
  decoding (the ratio rule on the shared tokens), greedy text its re-encoding of the draft's text.

`generate` draws from torch's global generator: it is seeded once for each call of ours, from our
generator, and put back afterwards. The draft length is held constant, for its schedules depend
on what was accepted before.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from audit.samplers.batch import seed_from
from audit.samplers.decoders.interface import DecoderFacts
from audit.samplers.decoders.rules import RULES, Rules

_ROWS = 64
# A grammar is handed on to the draft, whose pruned vocabulary its ids do not fit: an IndexError.
_TRANSLATED = tuple(name for name in RULES if name != "grammar")
FORMS: Mapping[str, DecoderFacts] = {
    "assistant": DecoderFacts("transformers", _ROWS, shortens=True, rules=RULES),
    "prompt-lookup": DecoderFacts("transformers", _ROWS, lookup=True, rules=RULES),
    "other-tokenizer": DecoderFacts("tokenized", _ROWS, shortens=True, rules=_TRANSLATED),
}


@dataclass(frozen=True)
class AssistedGeneration:
    """transformers' decode loop in one of FORMS."""

    form: str = "assistant"

    def __call__(
        self,
        target: Any,
        draft: Any,
        prompt_ids: Tensor,
        *,
        max_new_tokens: int,
        num_speculative_tokens: int,
        generator: torch.Generator,
        stop_token_id: int | None = None,
        greedy: bool = False,
        rules: Rules | None = None,
        logprobs: Tensor | None = None,
    ) -> Tensor:
        """Returns the tokens of `target.generate`, int64 [batch, max_new_tokens]."""
        given = {
            "max_new_tokens": max_new_tokens,
            "eos_token_id": stop_token_id,
            "pad_token_id": stop_token_id,  # any other id would be masked as padding in the text
            "return_dict_in_generate": True,
            "output_scores": True,
            **_drafting(self.form, target, draft, num_speculative_tokens, greedy=greedy),
            **_sampling(rules or Rules(), target.config.vocab_size, greedy=greedy),
        }
        texts = []
        with torch.random.fork_rng(devices=[]), torch.no_grad():
            torch.manual_seed(seed_from(generator))
            for row, prompt in enumerate(prompt_ids.unsqueeze(1)):
                output = target.generate(prompt, attention_mask=torch.ones_like(prompt), **given)
                texts.append(output.sequences[0, prompt.shape[1] :])
                if logprobs is not None:
                    _report(logprobs[row], output.scores, texts[row])
        return _padded(texts, max_new_tokens)


def _drafting(form: str, target: Any, draft: Any, gamma: int, *, greedy: bool) -> dict[str, Any]:
    """Returns the arguments of `generate` that say where drafts come from."""
    if form == "prompt-lookup":
        return {"prompt_lookup_num_tokens": gamma}
    if form == "other-tokenizer" and greedy:
        draft = draft.fresh()  # the one at hand is pruned by sampling, which greedy text is not for
    drafting = draft.generation_config
    drafting.num_assistant_tokens = gamma
    drafting.num_assistant_tokens_schedule = "constant"
    drafting.assistant_confidence_threshold = 0.0
    if form == "assistant":
        return {"assistant_model": draft}
    return {
        "assistant_model": draft,
        "tokenizer": target.tokenizer,
        "assistant_tokenizer": draft.tokenizer,
    }


def _sampling(rules: Rules, vocab_size: int, *, greedy: bool) -> dict[str, Any]:
    """Returns the arguments of `generate` that say how to sample; all that are off, as off."""
    given: dict[str, Any] = {
        "do_sample": not greedy,
        "repetition_penalty": rules.repetition_penalty,
    }
    if rules.grammar:
        given["prefix_allowed_tokens_fn"] = _allowed(rules, vocab_size)
    if greedy:
        return given
    warpers = {name: getattr(rules, name) for name in ("temperature", "top_k", "top_p")}
    return {**given, **warpers, "min_p": rules.min_p or None}


def _allowed(rules: Rules, vocab_size: int) -> Callable[[int, Tensor], list[int]]:
    def allowed(_: int, text: Tensor) -> list[int]:
        ids: list[int] = rules.allowed(text, vocab_size).nonzero().squeeze(1).tolist()
        return ids

    return allowed


def _report(logprobs: Tensor, scores: tuple[Tensor, ...], text: Tensor) -> None:
    """Fills in the log-probabilities of as many tokens as there are scores."""
    for place, score in enumerate(scores[: len(logprobs)]):
        token = text[place] if place < len(text) else score[0].argmax()
        logprobs[place] = score[0].double().log_softmax(0)[token]


def _padded(texts: list[Tensor], length: int) -> Tensor:
    """Returns all texts, [batch, length], or as long as the longest one."""
    longest = max(length, *map(len, texts))
    rows = [torch.nn.functional.pad(text, (0, longest - len(text)), value=-1) for text in texts]
    return torch.stack(rows)
