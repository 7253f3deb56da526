"""Models for transformers' own generation: a table in its classes, and tiny ones with weights.

Importing this module imports transformers. The table keeps the tokens of its state in a real
DynamicCache, as one layer of keys, so that what generation does to the cache decides what the
model sees. The tiny models are real architectures from a config, random and in evaluation mode;
their weights are drawn wide, because those of a fresh model are so small that every context has
nearly the same law.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import torch
from torch import Tensor
from transformers import (
    DynamicCache,
    GenerationMixin,
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    PretrainedConfig,
    PreTrainedModel,
)
from transformers.modeling_outputs import CausalLMOutputWithPast

from audit.case import Rows
from audit.samplers.models.table import TableModel

_CACHE = next(
    f.name for f in fields(CausalLMOutputWithPast) if f.name in ("cache", "past_key_values")
)
_WIDTH, _HEADS, _POSITIONS = 16, 2, 64
_SPREAD = 0.5  # of the random weights


class TableConfig(PretrainedConfig):  # type: ignore[misc]
    """What generation asks a config for."""

    model_type = "draftproof-table"

    def __init__(self, vocab_size: int = 2, **more: Any) -> None:
        self.vocab_size, self.num_hidden_layers = vocab_size, 1
        super().__init__(**more)


class TransformersTable(PreTrainedModel, GenerationMixin):  # type: ignore[misc]
    """A table model as a PreTrainedModel; arguments and laws as `TableModel`."""

    config_class = TableConfig

    def __init__(self, rows: Rows, vocab_size: int) -> None:
        super().__init__(TableConfig(vocab_size=vocab_size))
        self.table = TableModel(rows, vocab_size)

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        past_key_values: Any = None,
        cache: Any = None,
        position_ids: Tensor | None = None,
        use_cache: bool | None = None,
        **_: Any,
    ) -> CausalLMOutputWithPast:
        """Returns the logits after the tokens of the call, in transformers' own class."""
        held = past_key_values if cache is None else cache
        if held is None and use_cache:
            held = DynamicCache()
        tokens = input_ids if held is None else _update(held, input_ids)
        fits = attention_mask is not None and attention_mask.shape == tokens.shape
        logits = self.table.rows_after(tokens, attention_mask if fits else None)
        return CausalLMOutputWithPast(logits=logits[:, -input_ids.shape[1] :], **{_CACHE: held})


def _update(cache: Any, tokens: Tensor) -> Tensor:
    """Returns all tokens that the cache holds, [batch, length], after these were added."""
    keys = tokens[:, None, :, None].to(torch.float32)
    held, _ = cache.update(keys, keys, 0)
    return torch.as_tensor(held[:, 0, :, 0]).long()


def tiny_model(architecture: str, vocab_size: int, *, seed: int) -> Any:
    """Returns a random model, "gpt2" or "llama", with a vocabulary of `vocab_size` tokens."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return _MAKERS[architecture](vocab_size).eval()


def laws_by_token(model: Any, ids: Tensor) -> Tensor:
    """Returns the laws after every token, float64 [1, length, vocab], read one token a call."""
    cache, laws = DynamicCache(), []
    with torch.no_grad():
        for place in range(ids.shape[1]):
            token = ids[:, place : place + 1]
            logits = model(token, use_cache=True, **{_CACHE: cache}).logits
            laws.append(logits.double().softmax(2))
    return torch.cat(laws, 1)


def _gpt2(vocab_size: int) -> Any:
    return GPT2LMHeadModel(
        GPT2Config(
            vocab_size=vocab_size,
            n_positions=_POSITIONS,
            n_embd=_WIDTH,
            n_layer=2,
            n_head=_HEADS,
            initializer_range=_SPREAD,
            bos_token_id=None,
            eos_token_id=None,
        )
    )


def _llama(vocab_size: int) -> Any:
    return LlamaForCausalLM(
        LlamaConfig(
            vocab_size=vocab_size,
            hidden_size=_WIDTH,
            intermediate_size=2 * _WIDTH,
            num_hidden_layers=2,
            num_attention_heads=_HEADS,
            num_key_value_heads=_HEADS,
            max_position_embeddings=_POSITIONS,
            initializer_range=_SPREAD,
            bos_token_id=None,
            eos_token_id=None,
        )
    )


_MAKERS = {"gpt2": _gpt2, "llama": _llama}
ARCHITECTURES = tuple(_MAKERS)
