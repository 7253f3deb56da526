"""A tiny Llama of transformers as a GGUF file, which llama.cpp reads: float32, no vocabulary."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from torch import Tensor

from audit.errors import UsageError
from audit.samplers.adapters.packages import GGUF

_LAYER = {
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}
_WHOLE = {
    "model.embed_tokens.weight": "token_embd.weight",
    "model.norm.weight": "output_norm.weight",
    "lm_head.weight": "output.weight",
}
_CONTEXT = 256  # llama.cpp rounds its own up to this, and warns of a model that has less


def write_llama(model: Any, path: Path) -> None:
    """Writes a LlamaForCausalLM without biases.

    Raises: UsageError for another architecture; as `Package.load` without the gguf package.
    """
    if model.config.model_type != "llama":
        raise UsageError(
            f"llama-cpp-python is handed a tiny Llama, not {model.config.model_type}; give "
            "--architecture llama alone."
        )
    writer = GGUF.function("gguf", "GGUFWriter", ("path", "arch"))(path, "llama")
    _describe(writer, model.config)
    for name, weights in _tensors(model).items():
        writer.add_tensor(name, weights.detach().float().contiguous().numpy())
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _describe(writer: Any, config: Any) -> None:
    writer.add_context_length(_CONTEXT)
    writer.add_embedding_length(config.hidden_size)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_rope_dimension_count(config.hidden_size // config.num_attention_heads)
    writer.add_vocab_size(config.vocab_size)
    writer.add_tokenizer_model("none")


def _tensors(model: Any) -> dict[str, Tensor]:
    """Returns the weights under llama.cpp's names; what is rotated, in its order of dimensions."""
    given, config = model.state_dict(), model.config
    heads = {"q_proj": config.num_attention_heads, "k_proj": config.num_key_value_heads}
    found = {ours: given[theirs] for theirs, ours in _WHOLE.items()}
    for layer in range(config.num_hidden_layers):
        for theirs, ours in _LAYER.items():
            weights = given[f"model.layers.{layer}.{theirs}.weight"]
            rotated = heads.get(theirs.rpartition(".")[2])
            found[f"blk.{layer}.{ours}.weight"] = _paired(weights, rotated) if rotated else weights
    return found


def _paired(weights: Tensor, heads: int) -> Tensor:
    """Returns the rows of each head with those that are rotated together next to each other."""
    rows, columns = weights.shape
    halves = weights.reshape(heads, 2, rows // heads // 2, columns)
    return halves.transpose(1, 2).reshape(rows, columns)
