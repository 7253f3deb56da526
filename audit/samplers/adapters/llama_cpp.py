"""llama.cpp's generation with a draft model, through llama-cpp-python: a black box in C++.

A tiny Llama of transformers is written as a GGUF file and runs there; the law is that of the model
in torch. What llama.cpp computes is told to whoever watches that model: after every `eval` it is
called with the tokens and the length of the cache, and answers with llama.cpp's logits. Drafts come
from the draft model in torch. llama.cpp's own sampler is seeded for each row, from ours.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor

from audit.samplers.adapters.gguf_file import write_llama
from audit.samplers.adapters.packages import LLAMA_CPP as PACKAGE
from audit.samplers.adapters.target import Target
from audit.samplers.decoders.interface import Decoder, DecoderFacts
from audit.samplers.decoders.rules import Rules
from audit.samplers.seeding import row_by_row

_LOADED = ("n_ctx", "n_threads", "n_threads_batch", "logits_all", "type_k", "type_v", "use_mmap")
_GENERATED = ("top_k", "top_p", "min_p", "temp")
_FLOAT32 = 0  # ggml's number of the type; the default of its cache, float16, shows in the law
_SEEDS = 2**32 - 1  # the last one stands for a seed of the device's own


def generate() -> Decoder:
    """Returns `Llama.generate` with a draft model as a decoder."""
    llama: Any = PACKAGE.function("llama_cpp", "Llama", ["model_path"], (*_LOADED, "verbose"))
    generating, evaluating = (getattr(llama, name, None) for name in ("generate", "eval"))
    PACKAGE.checked(generating, "Llama.generate", ("self", "tokens"), _GENERATED)
    PACKAGE.checked(evaluating, "Llama.eval", ("self", "tokens"))
    drafter = PACKAGE.function("llama_cpp.llama_speculative", "LlamaDraftModel")
    telling, drafting = _telling(llama), _drafting(drafter)
    loaded: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()

    def decode(
        target: Any,
        draft: Any,
        prompt_ids: Tensor,
        *,
        max_new_tokens: int,
        num_speculative_tokens: int,
        generator: torch.Generator,
        greedy: bool = False,
        rules: Rules | None = None,
    ) -> Tensor:
        if target not in loaded:
            loaded[target] = _load(telling, target)
        model, sampling = loaded[target], _sampling(greedy, rules or Rules())
        model.told = target
        model.draft_model = drafting(draft, num_speculative_tokens, generator)

        def one(prompt: Tensor) -> Tensor:
            model.set_seed(int(torch.randint(_SEEDS, (1,), generator=generator)))
            text = model.generate(prompt.tolist(), **sampling)
            return torch.tensor([next(text) for _ in range(max_new_tokens)])

        return row_by_row(one, prompt_ids, max_new_tokens)

    return decode


def _load(telling: Callable[..., Any], target: Any) -> Any:
    """Returns the model in llama.cpp; the file may go once it has been read."""
    size = target.config.max_position_embeddings
    with TemporaryDirectory() as folder:
        path = Path(folder) / "model.gguf"
        write_llama(target, path)
        return telling(
            str(path), n_ctx=size, n_threads=1, n_threads_batch=1, logits_all=True,
            type_k=_FLOAT32, type_v=_FLOAT32, use_mmap=False, verbose=False,
        )  # fmt: skip


def _telling(llama: Any) -> Any:
    class Telling(llama):  # type: ignore[misc]
        """The package's model, which tells the torch model of every call."""

        def eval(self, tokens: Sequence[int]) -> None:
            """Evaluates the tokens as the package does, and tells what came of it."""
            held = self.n_tokens
            super().eval(tokens)
            logits = torch.from_numpy(self.scores[held : self.n_tokens].copy())
            _tell(self.told, held, tokens, logits)

    return Telling


def _tell(model: Any, held: int, tokens: Sequence[int], logits: Tensor) -> None:
    """Calls the model, and with it the hooks on it, with an answer in place of its own."""
    model.forward = lambda *_, **__: SimpleNamespace(logits=logits.unsqueeze(0))
    try:
        model(torch.tensor([tokens]), cache=SimpleNamespace(get_seq_length=lambda: held))
    finally:
        del model.forward


def _drafting(drafter: Any) -> Any:
    class Drafting(drafter):  # type: ignore[misc]
        """Drafts gamma tokens, each drawn from the law of a torch model after the whole text."""

        def __init__(self, model: Any, gamma: int, generator: torch.Generator) -> None:
            self._model, self._gamma, self._generator = model, gamma, generator

        def __call__(self, input_ids: Any, /, **more: Any) -> Any:
            text = torch.from_numpy(input_ids).long()
            for _ in range(self._gamma):
                with torch.no_grad():
                    law = self._model(text.unsqueeze(0)).logits[0, -1].double().softmax(0)
                drawn = torch.multinomial(law, 1, generator=self._generator)
                text = torch.cat([text, drawn])
            return text[len(input_ids) :].numpy()

    return Drafting


def _sampling(greedy: bool, rules: Rules) -> dict[str, Any]:
    """Returns the arguments of `generate` that ask for these rules, and for no others."""
    temperature = 0.0 if greedy else rules.temperature
    return {"temp": temperature, "top_k": rules.top_k, "top_p": 1.0, "min_p": 0.0}


TARGETS = (
    Target(
        name="llama-cpp-python",
        package=PACKAGE,
        calls="llama_cpp.Llama.generate",
        reads="its own model, logits float32",
        draft_law="none",
        drafts="its own",
        bonus="included",
        randomness="private, seeded",
        facts=DecoderFacts(models="weights", max_batch=64, rules=("temperature", "top_k")),
        load=generate,
    ),
)
