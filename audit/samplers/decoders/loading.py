"""Every way to name a decode loop, and what stands behind the name.

`reference` is our own loop, `fault:ID` the same with a state fault, `transformers` the assisted
generation of the installed package; `module:object` and `path/to/file.py:object` are the user's.
All of them run in this process, for they are handed models.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import platform
from collections.abc import Mapping
from pathlib import Path

import torch

from audit.errors import UsageError
from audit.samplers.client import refusal
from audit.samplers.decoders.faults import KEEPING, decoder_of
from audit.samplers.decoders.interface import (
    Decoder,
    DecoderFacts,
    LoadedDecoder,
    decoder_facts,
)
from audit.samplers.decoders.loop import decode
from audit.samplers.facts import nearest
from audit.samplers.identity import code_of_files, code_of_module
from audit.samplers.identity_of_object import code_of_object
from audit.samplers.transformers_adapter import INSTALL
from audit.samplers.worker.loading import RefusedError, load

OPTIONS = frozenset({"stop_token_id", "greedy"})
_OWN = DecoderFacts(models="module", max_batch=None)
_FOLDER = Path(__file__).parent


def load_decoder(spec: str) -> LoadedDecoder:
    """Returns the decoder that `spec` names.

    Raises: UsageError where nothing has this name; SamplerError where it cannot be imported.
    """
    if spec == "reference":
        return _own(spec, decode)
    if spec == "transformers":
        return _transformers()
    place, _, name = spec.rpartition(":")
    if place == "fault" and name in KEEPING:
        return _own(spec, decoder_of(name))
    if not (place and name) or place == "fault":
        faults = [f"fault:{id_}" for id_ in KEEPING if id_ != "correct"]
        known = nearest(spec, ["reference", "transformers", *faults])
        raise UsageError(f"no decode loop is named {known}")
    return _users(spec)


def wrap_decoder(decoder: Decoder) -> LoadedDecoder:
    """Returns a callable of this process as a decoder; its `draftproof` attribute is read."""
    name = getattr(decoder, "__qualname__", type(decoder).__qualname__)
    facts = decoder_facts(getattr(decoder, "draftproof", {}), name=name)
    return _loaded(name, decoder, facts, code_of_object(decoder))


def _own(spec: str, decoder: Decoder) -> LoadedDecoder:
    files = {path.name: path for path in _FOLDER.glob("*.py")}
    return _loaded(spec, decoder, _OWN, code_of_files(files))


def _transformers() -> LoadedDecoder:
    try:
        importlib.import_module("transformers.utils.logging").set_verbosity_error()
    except ModuleNotFoundError as error:
        if error.name == "transformers":
            raise UsageError(f"transformers is not installed; {INSTALL}.") from None
        raise
    from audit.samplers.decoders.transformers_decoder import FACTS, assisted_generation

    package = Path(str(importlib.import_module("transformers").__file__))
    code = code_of_module("transformers", package)
    return _loaded("transformers", assisted_generation, FACTS, code)


def _users(spec: str) -> LoadedDecoder:
    try:
        found, origin = load(spec)
    except RefusedError as refused:
        raise refusal(str(refused), usage=refused.usage, detail=refused.detail) from None
    facts = decoder_facts(getattr(found, "draftproof", {}), name=spec)
    files = {name: Path(path) for name, path in origin["files"].items()}
    return _loaded(spec, found, facts, code_of_files(files) if files else code_of_object(found))


def _loaded(
    name: str, decoder: Decoder, facts: DecoderFacts, code: Mapping[str, str]
) -> LoadedDecoder:
    versions = {"python": platform.python_version(), "torch": torch.__version__}
    return LoadedDecoder(
        name, decoder, facts, _options(decoder), {"spec": name, **versions, **code}
    )


def _options(decoder: Decoder) -> frozenset[str]:
    """Returns which of the optional keyword arguments the signature has."""
    try:
        function = decoder.func if isinstance(decoder, functools.partial) else decoder
        return OPTIONS & set(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return frozenset()
