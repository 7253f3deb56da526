"""What an adapter says of the code that it audits, in the words of docs/targets.md."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, get_args

from audit.samplers.adapters.package import Package
from audit.samplers.adapters.packages import Level
from audit.samplers.decoders.interface import DecoderFacts
from audit.samplers.interface import Facts


@dataclass(frozen=True)
class Target:
    """A function of a package under the name by which it is audited.

    calls: the function. reads: form and dtype of its inputs. draft_law: what it is told of the law
    of its drafts: dense, at the drafted tokens, or nothing. drafts: drawn by the harness or its
    own. bonus: included, or none. randomness: where its random numbers come from. facts: what the
    harness goes by: rows, batches, the rule that it declares, the law that it claims. load: makes
    the sampler or decoder, and only then imports the package. step: makes a step sampler, where one
    round drafts for itself.
    """

    name: str
    package: Package
    calls: str
    reads: str
    draft_law: str
    drafts: str
    bonus: str
    randomness: str
    facts: Facts | DecoderFacts
    load: Callable[[], Callable[..., Any]]
    step: Callable[[], Callable[..., Any]] | None = None

    @property
    def level(self) -> Level:
        """Whether one verification is audited, or a whole decode loop."""
        return "verify" if isinstance(self.facts, Facts) else "decode"

    @property
    def levels(self) -> tuple[Level, ...]:
        """All levels at which it is audited."""
        offered = {self.level, *(["step"] if self.step else [])}
        return tuple(level for level in get_args(Level) if level in offered)

    @property
    def found(self) -> str:
        """The installed version, or how to install it."""
        return self.package.state

    @property
    def command(self) -> str:
        """The command that audits it."""
        return f"draftproof {'run' if self.level == 'verify' else 'state'} {self.name}"
