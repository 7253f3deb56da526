"""The packages that are audited by name, and what each of their functions offers.

Nothing here imports torch or one of the packages, so that they are listed at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from audit.samplers.adapters.package import Package
from audit.tree import Drafting

Level = Literal["verify", "step", "decode"]

TRANSFORMERS = Package("transformers", "5.24.0", "transformers", oldest="4.57")
FLASHSPEC = Package("flashspec", "0.3.1", "flashspec")
ECONOMIZE = Package("economize", "0.3.2", "economize")
# Its dependencies ask for an older huggingface-hub than transformers 5 does.
_BESIDE = "--no-deps lightning lightning-utilities torchmetrics jsonargparse psutil "
LITGPT = Package("litgpt", "0.5.13", "litgpt", options=_BESIDE)
MLX_LM = Package("mlx-lm", "0.32.2", "mlx_lm", options="'mlx[cpu]' ")
YUNSHU = Package(
    "yunshu", "0.1.5", "yunshu_engine", options="--no-deps --ignore-requires-python mlx mlx-cpu "
)
LLAMA_CPP = Package("llama-cpp-python", "0.3.36", "llama_cpp", options="gguf ")
GGUF = Package("gguf", "0.19.0", "gguf")
VLLM = Package("vllm", "0.33.0", "vllm", instead="its kernels alone by docs/targets.md")


@dataclass(frozen=True)
class Offered:
    """A function of a package: the levels at which it is audited, and which trees it verifies."""

    package: Package
    levels: tuple[Level, ...]
    trees: tuple[Drafting, ...] = ()


_VERIFY: tuple[Level, ...] = ("verify",)
_ROUND: tuple[Level, ...] = ("verify", "step")
OFFERED: Mapping[str, Offered] = {
    "flashspec": Offered(FLASHSPEC, _VERIFY),
    "flashspec-one-hot": Offered(FLASHSPEC, _VERIFY),
    "flashspec-sample": Offered(FLASHSPEC, _VERIFY),
    "flashspec-engine": Offered(FLASHSPEC, ("decode",)),
    "economize": Offered(ECONOMIZE, _VERIFY),
    "economize-one-hot": Offered(ECONOMIZE, _VERIFY),
    "economize-row": Offered(ECONOMIZE, _VERIFY),
    "economize-tree-independent": Offered(ECONOMIZE, _VERIFY, ("independent",)),
    "economize-tree-distinct": Offered(ECONOMIZE, _VERIFY, ("distinct",)),
    "economize-tree-fixed": Offered(ECONOMIZE, _VERIFY, ("fixed",)),
    "litgpt": Offered(LITGPT, ("decode",)),
    "litgpt-step": Offered(LITGPT, ("step", "decode")),
    "mlx-lm": Offered(MLX_LM, ("decode",)),
    "llama-cpp-python": Offered(LLAMA_CPP, ("decode",)),
    "yunshu": Offered(YUNSHU, _VERIFY),
    "vllm-v1": Offered(VLLM, _VERIFY),
    "vllm-v1-padded": Offered(VLLM, _VERIFY),
    "vllm-v1-one-hot": Offered(VLLM, _VERIFY),
    "vllm-v1-synthetic": Offered(VLLM, _VERIFY),
    "vllm-v2": Offered(VLLM, _ROUND),
    "vllm-v2-block": Offered(VLLM, _ROUND),
    "vllm-v2-one-hot": Offered(VLLM, _VERIFY),
    "vllm-v2-synthetic": Offered(VLLM, _VERIFY),
}
