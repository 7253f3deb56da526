"""Every way to name a decode loop, and what stands behind the name.

`reference` is our own loop, `fault:ID` the same with a state fault, `transformers` the assisted
generation of the installed package in one of its forms; `module:object` and
`path/to/file.py:object` are the user's. Options are keyword arguments of the decoder.
"""

from __future__ import annotations

import functools
import inspect
import platform
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import cast

import torch
from torch import Tensor

from audit.errors import UsageError
from audit.samplers.adapters.listing import TARGETS
from audit.samplers.adapters.packages import TRANSFORMERS
from audit.samplers.adapters.target import Target
from audit.samplers.client import refusal
from audit.samplers.decoders.faults import KEEPING, decoder_of
from audit.samplers.decoders.interface import (
    OFFERS,
    Decoder,
    DecoderFacts,
    LoadedDecoder,
    decoder_facts,
)
from audit.samplers.decoders.loop import decode
from audit.samplers.decoders.rules import RULES, Option
from audit.samplers.facts import nearest
from audit.samplers.identity import code_of_files, code_of_module
from audit.samplers.identity_of_object import code_of_object
from audit.samplers.listing import elsewhere
from audit.samplers.transformers_adapter import be_quiet
from audit.samplers.worker.loading import RefusedError, load

_OWN = DecoderFacts(models="module", max_batch=None, rules=RULES)
_ALWAYS = frozenset(
    ("target", "draft", "prompt_ids", "max_new_tokens", "num_speculative_tokens", "generator")
)
_FOLDER = Path(__file__).parent


def load_decoder(spec: str, options: Mapping[str, Option] | None = None) -> LoadedDecoder:
    """Returns the decoder that `spec` names, with keyword arguments of its own.

    Raises: UsageError where nothing has this name, or it has no such option; SamplerError where it
    cannot be imported.
    """
    options = dict(options or {})
    if spec == "transformers":
        return _transformers(**options)
    return with_options(_named(spec), options)


def _named(spec: str) -> LoadedDecoder:
    if spec == "reference":
        return _own(spec, decode)
    if spec in TARGETS:
        return _adapted(TARGETS[spec])
    place, _, name = spec.rpartition(":")
    if place == "fault" and name in KEEPING:
        return _own(spec, decoder_of(name))
    if not (place and name) or place == "fault":
        faults = [f"fault:{id_}" for id_ in KEEPING if id_ != "correct"]
        known = nearest(spec, ["reference", "transformers", *faults])
        raise UsageError(elsewhere(spec, "decode") or f"no decode loop is named {known}")
    return _users(spec)


def with_options(loaded: LoadedDecoder, options: Mapping[str, Option]) -> LoadedDecoder:
    """Returns the decoder with keyword arguments bound.

    Raises: UsageError where its signature has no such one.
    """
    if not options:
        return loaded
    known = _keywords(loaded.call) - OFFERS - _ALWAYS
    for name in options:
        if name not in known:
            raise UsageError(f"{loaded.name} has no option {nearest(name, [*known, *RULES])}")
    call = cast(Callable[..., Tensor], loaded.call)
    return replace(loaded, call=functools.partial(call, **options))


def wrap_decoder(decoder: Decoder) -> LoadedDecoder:
    """Returns a callable of this process as a decoder; its `draftproof` attribute is read."""
    name = getattr(decoder, "__qualname__", type(decoder).__qualname__)
    facts = decoder_facts(getattr(decoder, "draftproof", {}), name=name)
    return _loaded(name, decoder, facts, code_of_object(decoder))


def _own(spec: str, decoder: Decoder) -> LoadedDecoder:
    files = {path.name: path for path in _FOLDER.glob("*.py")}
    return _loaded(spec, decoder, _OWN, code_of_files(files))


def _transformers(form: Option = "assistant", **unknown: Option) -> LoadedDecoder:
    be_quiet()
    from audit.samplers.decoders.transformers_decoder import FORMS, AssistedGeneration

    for name in unknown:
        raise UsageError(f"transformers has no option {nearest(name, ['form', *RULES])}")
    if form not in FORMS:
        raise UsageError(f"transformers has no form {nearest(form, FORMS)}")
    code = code_of_module("transformers", TRANSFORMERS.file)
    return _loaded("transformers", AssistedGeneration(str(form)), FORMS[str(form)], code)


def _adapted(target: Target) -> LoadedDecoder:
    """Returns the decoder of an adapter. Raises UsageError where it only verifies."""
    if not isinstance(target.facts, DecoderFacts):
        raise UsageError(
            f"{target.name} verifies and decodes nothing; audit it with `{target.command}`."
        )
    package = target.package
    decoder = package.made(target.load)
    code = code_of_module(package.module, package.file)
    return _loaded(target.name, decoder, target.facts, code)


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
        name, decoder, facts, OFFERS & _keywords(decoder), {"spec": name, **versions, **code}
    )


def _keywords(decoder: Decoder) -> frozenset[str]:
    """Returns the names of the parameters, none where they cannot be told."""
    try:
        return frozenset(inspect.signature(decoder).parameters)
    except (TypeError, ValueError):
        return frozenset()
