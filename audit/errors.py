"""The errors draftproof raises, each with the exit code that the command line gives it.

Every message is one sentence: what, where, value, bound, what to do.
"""

from __future__ import annotations


class DraftproofError(Exception):
    """Base of all errors of this package; on its own it means a defect of draftproof."""

    exit_code = 70


class UsageError(DraftproofError):
    """Raised for bad arguments or an empty selection."""

    exit_code = 2


class CaseError(UsageError):
    """Raised for broken case files; `problems` lists every one of them, a sentence each."""

    def __init__(self, *problems: str) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


class SamplerError(DraftproofError):
    """Raised when a sampler breaks its contract, raises, dies or times out.

    `detail` holds the sampler's own traceback, for the record and not for the terminal.
    """

    exit_code = 4

    def __init__(self, message: str, *, detail: str = "") -> None:
        super().__init__(message)
        self.detail = detail


def unparsed(error: Exception) -> str:
    """Returns why a text could not be parsed, as the rest of a sentence.

    >>> unparsed(ValueError("line 1 is empty.")), unparsed(RecursionError("stack"))
    ('line 1 is empty', 'it is nested too deeply')
    """
    return (
        "it is nested too deeply" if isinstance(error, RecursionError) else str(error).rstrip(".")
    )
