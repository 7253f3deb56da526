"""What can be audited by name, and at which levels.

Nothing here imports torch, so that it is listed at once; tests hold it against what is loaded.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from audit.exact.catalogue import RULES
from audit.exact.rule import Rule
from audit.exact.state_faults import STATE_FAULTS
from audit.samplers.adapters.packages import OFFERED, TRANSFORMERS, Level

COMMANDS: Mapping[Level, str] = {"verify": "run", "step": "step", "decode": "state"}
# Faults of a half that drafts, without those of the catalogue.
DRAFTING = (
    "draft-record-late",
    "draft-rows-damaged",
    "draft-rows-reordered",
    "draft-in-bfloat16",
    "draft-map-lost",
    "beam-draft",
)
_STATE = tuple(id_ for id_ in STATE_FAULTS if id_ != "correct")
_ALL: tuple[Level, ...] = tuple(COMMANDS)
_BUILT_IN = "built in"


class SamplerRow(NamedTuple):
    """A line of `draftproof samplers list`; `found` is a version or how to get one."""

    name: str
    levels: tuple[Level, ...]
    drafts: str
    found: str


def list_samplers() -> list[SamplerRow]:
    """Returns every sampler that can be named, and the forms for the user's own."""
    return [
        SamplerRow("reference", _ALL, "chain", _BUILT_IN),
        *map(_row_of, RULES.values()),
        *(SamplerRow(f"fault:{id_}", ("step",), "its own", _BUILT_IN) for id_ in DRAFTING),
        *(SamplerRow(f"fault:{id_}", ("decode",), "its own", _BUILT_IN) for id_ in _STATE),
        SamplerRow("transformers", ("verify", "decode"), "chain", TRANSFORMERS.state),
        *_packages(),
        SamplerRow("module:object", _ALL, "its own", "anything that can be imported from here"),
        SamplerRow("path/to/file.py:object", _ALL, "its own", "a file of yours"),
        SamplerRow("process:COMMAND", ("verify",), "chain", "a program in any language"),
    ]


def levels_of(spec: str) -> tuple[Level, ...]:
    """Returns the levels at which a listed name is audited, () where it is none.

    >>> levels_of("rule:block"), levels_of("fault:lenience@3/10"), levels_of("a.py:verify")
    (('verify', 'step'), ('verify', 'step'), ())
    """
    name = spec.partition("@")[0]
    return next((row.levels for row in list_samplers() if row.name == name), ())


def elsewhere(spec: str, level: Level) -> str:
    """Returns the sentence on a name that is audited at other levels alone, "" for any other.

    >>> elsewhere("mlx-lm", "verify")
    'mlx-lm is not offered at the verify level; audit it with `draftproof state mlx-lm`.'
    """
    levels = levels_of(spec)
    if not levels or level in levels:
        return ""
    commands = " or ".join(f"`draftproof {COMMANDS[one]} {spec}`" for one in levels)
    return f"{spec} is not offered at the {level} level; audit it with {commands}."


def _row_of(rule: Rule) -> SamplerRow:
    kind = "rule" if rule.family == "lossless" else "fault"
    levels: tuple[Level, ...] = ("verify",) if rule.trees else ("verify", "step")
    return SamplerRow(f"{kind}:{rule.id}", levels, _drafts(rule.trees), _BUILT_IN)


def _drafts(trees: Sequence[str]) -> str:
    return f"tree, {' or '.join(trees)}" if trees else "chain"


def _packages() -> Iterator[SamplerRow]:
    for name, offered in OFFERED.items():
        drafts = "its own" if "verify" not in offered.levels else _drafts(offered.trees)
        yield SamplerRow(name, offered.levels, drafts, offered.package.state)
