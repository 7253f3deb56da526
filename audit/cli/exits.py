"""The one place where errors become exit codes.

2 usage, 4 sampler, 70 a defect of draftproof, 130 interrupted; verdicts return their own.
"""

from __future__ import annotations

import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Callable, Iterable

import click

from audit import __version__
from audit.errors import DraftproofError, SamplerError, UsageError
from audit.plural import counted
from audit.render.plain import clean, words_cut
from audit.verdict import EXIT_CODES, INTERRUPTED, Outcome

LONGEST_SENTENCE = 2_000
_WORST_FIRST = (
    INTERRUPTED,
    DraftproofError.exit_code,
    SamplerError.exit_code,
    UsageError.exit_code,
    EXIT_CODES[Outcome.FAIL],
    EXIT_CODES[Outcome.INCONCLUSIVE],
    EXIT_CODES[Outcome.PASS],
)


_WORDS = {
    INTERRUPTED: "interrupted",
    DraftproofError.exit_code: "in error",
    SamplerError.exit_code: "in error",
    UsageError.exit_code: "not audited",
    EXIT_CODES[Outcome.FAIL]: "failed",
    EXIT_CODES[Outcome.INCONCLUSIVE]: "undecided",
    EXIT_CODES[Outcome.PASS]: "passed",
}
_KNOWN = {EXIT_CODES[Outcome.FAIL]: "not as expected", EXIT_CODES[Outcome.PASS]: "as expected"}


def tally(codes: Iterable[int], known: Iterable[bool]) -> str:
    """Returns how several samplers ended; known: whether each is a known defect that must fail.

    >>> tally([1, 0, 0], [False, False, True])
    '3 samplers: 1 failed, 1 passed, 1 as expected.'
    """
    words = Counter(
        (_KNOWN if defect else _WORDS).get(code, _WORDS[code])
        for code, defect in zip(codes, known, strict=True)
    )
    ended = ", ".join(f"{number} {word}" for word, number in words.items())
    return f"{counted(words.total(), 'sampler')}: {ended}."


def worst(codes: Iterable[int]) -> int:
    """Returns the worst of several exit codes.

    >>> worst([0, 3, 1, 0])
    1
    """
    return min(codes, key=_WORST_FIRST.index)


def exit_code_of(action: Callable[[], object]) -> int:
    """Returns the exit code of `action`: the integer it returns, or the one of its error."""
    try:
        result = action()
    except click.ClickException as error:
        error.show()
        return UsageError.exit_code
    except (click.Abort, KeyboardInterrupt):
        _say("interrupted.")
        return INTERRUPTED
    except DraftproofError as error:
        return _known(error)
    except Exception as error:
        return _internal(error)
    return result if isinstance(result, int) else 0


def _known(error: DraftproofError) -> int:
    if error.exit_code == DraftproofError.exit_code:
        return _internal(error)
    for sentence in str(error).splitlines():
        _say(sentence)
    return error.exit_code


def _internal(error: Exception) -> int:
    summary = f"{type(error).__name__}: {error}".splitlines()[0]
    _say(f"internal error ({summary}); please report it with the log {_log(error)}")
    return DraftproofError.exit_code


def _log(error: Exception) -> str:
    lines = [f"draftproof {__version__}\n", f"{sys.argv}\n", *traceback.format_exception(error)]
    with tempfile.NamedTemporaryFile(
        "w", prefix="draftproof-", suffix=".log", delete=False, encoding="utf-8"
    ) as file:
        file.writelines(lines)
    return file.name


def _say(sentence: str) -> None:
    click.echo(f"draftproof: {clean(words_cut(sentence), LONGEST_SENTENCE)}", err=True)
