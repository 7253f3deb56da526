"""vLLM's Triton kernels, imported: interpreted where there is no GPU, native where there is one.

The files of the release suffice, without its CUDA extension (docs/targets.md). Triton decides while
it is imported whether it interprets, and vLLM whether there is a Triton at all; both go by
environment variables, which are set for the import alone. What Triton's interpreter lacks of what
the kernels call, log1p, is filled in from numpy.
"""

from __future__ import annotations

import importlib
import logging
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from audit.errors import SamplerError, UsageError
from audit.samplers.adapters.package import Package
from audit.samplers.adapters.packages import VLLM
from audit.samplers.batch import stored_once
from audit.samplers.interface import RowOptions, StepBatch

_INTERPRET = "TRITON_INTERPRET"
_WITHOUT_GPU = {_INTERPRET: "1", "CUDA_VISIBLE_DEVICES": "", "VLLM_CONFIGURE_LOGGING": "0"}
_WITH_GPU = {"VLLM_CONFIGURE_LOGGING": "0"}


class Kernels(Package):
    """vLLM, of which only what calls its sampling kernels is imported."""

    def load(self, module: str) -> ModuleType:
        """Returns a module of vLLM. Raises as `Package.load`, or UsageError without Triton."""
        if self.found and importlib.util.find_spec("triton") is None:
            raise UsageError(
                "vllm is installed without triton; pip install 'draftproof[vllm-kernels]'."
            )
        _refuse_compiled_triton()
        with _importing():
            return super().load(module)


PACKAGE = Kernels(**asdict(VLLM))


def place() -> torch.device:
    """Returns the device on which the kernels run: a GPU if there is one."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


@contextmanager
def calling() -> Iterator[None]:
    """Keeps numpy quiet about the infinities that interpreted kernels compute with."""
    with np.errstate(all="ignore"), torch.no_grad():
        yield


def logits_of(probs: Tensor) -> Tensor:
    """Returns the logarithms of float32 probabilities, 0 in rows that hold nothing."""
    rows = stored_once(probs).float()
    return torch.where(rows.sum(-1, keepdim=True) > 0, rows.log(), 0.0).expand(probs.shape)


def temperatures(batch: StepBatch) -> tuple[Tensor, Tensor]:
    """Returns the temperature of each row, 0 in greedy ones, and what its logits are scaled by.

    Both are float32 [batch]. Laws are handed over with the temperature applied, logits without.
    """
    ones = torch.ones(len(batch.draft_token_ids), device=batch.target_probs.device)
    options: RowOptions | None = batch.options
    if options is None:
        return ones, ones
    warm = options.temperature.float()
    return torch.where(options.greedy, 0.0, warm), torch.where(options.greedy, 1.0, warm)


def without_libdevice(module: Any) -> None:
    """Gives a module of kernels a log1p that Triton's interpreter can run, where it interprets."""
    if place().type == "cpu":
        module.tldevice = SimpleNamespace(log1p=_log1p)


def _log1p(x: Any) -> Any:
    """Returns log(1 + x) of an interpreted tensor."""
    language = importlib.import_module("triton.language")
    handle = importlib.import_module("triton.runtime.interpreter").TensorHandle
    return language.tensor(handle(np.log1p(x.handle.data), x.handle.dtype), x.type)


@contextmanager
def _importing() -> Iterator[None]:
    """Sets what the import goes by, and keeps it quiet."""
    wanted = _WITHOUT_GPU if place().type == "cpu" else _WITH_GPU
    before = {name: os.environ.get(name) for name in wanted}
    logging.getLogger("vllm").setLevel(logging.ERROR)
    os.environ.update(wanted)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})


def _refuse_compiled_triton() -> None:
    """Raises SamplerError where Triton was imported without its interpreter and there is no GPU."""
    late = "triton" in sys.modules and "vllm" not in sys.modules
    if late and place().type == "cpu" and os.environ.get(_INTERPRET) != "1":
        raise SamplerError(
            "triton was imported here before vllm, to compile, which takes a GPU (transformers "
            f"imports it); set {_INTERPRET}=1 in the environment, or audit vllm in a process of "
            "its own."
        )
