"""Where the laws of a sampler are read: in this process, or apart from it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from audit.case import Case
from audit.laws.apart import Apart
from audit.laws.reading import read_case
from audit.laws.terms import Terms
from audit.samplers.interface import LoadedSampler, Sampler
from audit.samplers.registry import PROCESS, load_sampler, wrap_sampler
from audit.steered import Found


class Source(Protocol):
    """A sampler whose laws can be read; `sampler` says its name and what it declares."""

    @property
    def sampler(self) -> LoadedSampler:
        """The sampler."""
        ...

    def read(self, case: Case, terms: Terms) -> Found:
        """Returns the law on a case, or why there is none. Raises SamplerError."""
        ...

    def close(self) -> None:
        """Ends what was started."""
        ...


@dataclass(frozen=True)
class Here:
    """A sampler in this process."""

    sampler: LoadedSampler

    def read(self, case: Case, terms: Terms) -> Found:
        """Returns the law on a case, or why there is none. Raises SamplerError."""
        return read_case(self.sampler, case, terms)

    def close(self) -> None:
        """Ends the program behind the sampler, if there is one."""
        self.sampler.close()


def source_of(sampler: str | Sampler, *, timeout: float, in_process: bool = False) -> Source:
    """Returns where the laws of a sampler are read: a user's apart, unless it is accepted here.

    timeout: the longest that a case may take in a process of its own, in seconds.

    Raises: UsageError where nothing has this name; SamplerError where it cannot be loaded.
    """
    if not isinstance(sampler, str):
        return Here(wrap_sampler(sampler))
    if _users(sampler) and not in_process:
        return Apart(sampler, seconds=timeout)
    return Here(load_sampler(sampler, in_process=True))


def _users(spec: str) -> bool:
    """Returns whether a name is that of a user's own object.

    >>> [_users(spec) for spec in ("a.py:f", "rule:ratio", "process:./a", "transformers")]
    [True, False, False, False]
    """
    place, _, name = spec.rpartition(":")
    return bool(place and name) and place not in ("rule", "fault") and not spec.startswith(PROCESS)
