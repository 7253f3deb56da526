"""Text from outside made harmless.

A name that comes from a sampler or a file may hold anything: control characters, characters that
turn the reading direction, ten thousand letters. `clean` is the only way such text goes out.
"""

from __future__ import annotations

import re
import unicodedata

NAME_LIMIT = 120
WORD_LIMIT = 240  # most paths are shorter
_INVISIBLE = ("Cc", "Cf", "Co", "Cn", "Cs", "Zl", "Zp")


def clean(text: str, limit: int = NAME_LIMIT) -> str:
    """Returns the text on one line, without invisible characters, at most `limit` long.

    >>> clean("a\\x1b[31mb\\u202ec\\n", limit=20)
    'a�[31mb�c '
    >>> clean("x" * 200, limit=5)
    'xxxx…'
    """
    if len(text) > limit:
        text = text[: limit - 1] + "…"
    return "".join(map(_harmless, text))


def words_cut(text: str, limit: int = WORD_LIMIT) -> str:
    """Returns the text, of every longer word its beginning and its end alone.

    >>> words_cut("no 'abcdefghijkl' here", limit=10)
    "no 'abcd…jkl' here"
    """
    head, tail = (limit - 1) // 2 + 1, (limit - 1) // 2
    return re.sub(rf"\S{{{limit + 1},}}", lambda word: f"{word[0][:head]}…{word[0][-tail:]}", text)


def clean_lines(text: str, limit: int = 8_000) -> str:
    """Returns text of several lines, each made harmless; the end is kept where it is too long."""
    kept = text if len(text) <= limit else "…" + text[-limit:]
    return "\n".join(clean(line, limit) for line in kept.splitlines())


def _harmless(character: str) -> str:
    if character in "\n\t":
        return " "
    return "�" if unicodedata.category(character) in _INVISIBLE else character
