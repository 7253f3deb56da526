"""Every adapter by the name under which it is audited; none of the packages is imported here."""

from __future__ import annotations

from collections.abc import Mapping

from audit.samplers.adapters import (
    economize,
    flashspec,
    flashspec_engine,
    litgpt,
    llama_cpp,
    mlx_lm,
    vllm_v1,
    vllm_v2,
    yunshu,
)
from audit.samplers.adapters.target import Target

_MODULES = (
    flashspec,
    flashspec_engine,
    economize,
    litgpt,
    mlx_lm,
    llama_cpp,
    yunshu,
    vllm_v1,
    vllm_v2,
)
TARGETS: Mapping[str, Target] = {
    target.name: target for module in _MODULES for target in module.TARGETS
}
