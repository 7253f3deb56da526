"""What a check of the contract found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from audit.errors import SamplerError
from audit.samplers.adapters.packages import Level
from audit.samplers.interface import Facts

Result = Literal["kept", "broken", "told", "skipped"]


@dataclass(frozen=True)
class Finding:
    """What came of one rule.

    told: no rule is broken, but the user should know. skipped: it was not asked.
    """

    rule: str
    result: Result
    said: str = ""


@dataclass(frozen=True)
class ContractReport:
    """Everything found out about one sampler.

    levels: those at which it can be audited. dtypes: those that it takes.
    """

    sampler: str
    identity: Mapping[str, str]
    facts: Facts
    levels: tuple[Level, ...]
    dtypes: tuple[str, ...]
    findings: tuple[Finding, ...]

    @property
    def broken(self) -> tuple[Finding, ...]:
        """The findings that break the contract."""
        return tuple(finding for finding in self.findings if finding.result == "broken")

    @property
    def exit_code(self) -> int:
        """0 where every rule is kept, else the exit code of a broken contract."""
        return SamplerError.exit_code if self.broken else 0
