"""The single values of a case file, each checked and turned into what it stands for.

A check raises ValueError with the end of a sentence whose beginning, the place, its caller knows:
the value, the bound, what to do.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from fractions import Fraction

from audit.case import Prefix
from audit.plural import counted
from audit.row import Row
from audit.sampling import MAX_TEMPERATURE_INVERSE

MAX_DIGITS = 400  # of a number as written, and of a common denominator; a float64 needs fewer
MAX_WHY = 300
MAX_NODES = 64
_SHOWN = 60
_ID = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")
_RATIONAL = re.compile(r"-?([0-9]+(/[0-9]+)?|[0-9]*\.[0-9]+)")
_TOKEN = r"(0|[1-9][0-9]{0,8})"
_PREFIX = re.compile(rf"({_TOKEN}( {_TOKEN})*)?")


def cut_short(text: str) -> str:
    """Returns the text, or its beginning and its length where it is long.

    >>> cut_short("a" * 1000)[-24:]
    'aaa... (1000 characters)'
    """
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}... ({len(text)} characters)"


def shown(value: object) -> str:
    """Returns a value the way TOML writes it, without control characters and cut short.

    >>> shown("a\\n"), shown(True), shown([1])
    ('"a\\\\n"', 'true', 'an array')
    """
    if isinstance(value, dict):
        return "a table"
    if isinstance(value, list):
        return "an array"
    if isinstance(value, int) and value.bit_length() > 64:  # Python may refuse to print it
        return f"an integer of {value.bit_length()} bits"
    return cut_short(json.dumps(value) if isinstance(value, str | bool) else str(value))


def case_id(value: str) -> str:
    """Returns the id. Raises: ValueError."""
    if not _ID.fullmatch(value):
        raise ValueError(
            f'is {shown(value)}, but must be 1 to 64 of a-z, 0-9 and "-", the first no "-"; '
            "rename it."
        )
    return value


def sentence(value: str) -> str:
    """Returns the text. Raises: ValueError where it is empty, long or holds control characters."""
    if not value.isprintable() or not 0 < len(value.strip()) <= MAX_WHY:
        raise ValueError(
            f"is {shown(value)}, but must be one sentence of 1 to {MAX_WHY} printable characters; "
            "rewrite it."
        )
    return value


def rational(value: object) -> Fraction:
    """Returns the rational that a string such as "1/5" or "0.2" holds. Raises: ValueError."""
    if not isinstance(value, str):
        raise ValueError(
            f"is {shown(value)}, which is not a string; write a fraction or a decimal in quotes, "
            'such as "1/5" or "0.2", so that it stays exact.'
        )
    if len(value) > MAX_DIGITS or not _RATIONAL.fullmatch(value):
        raise ValueError(
            f"is {shown(value)}, which is not a rational of at most {MAX_DIGITS} characters; "
            'write a fraction or a decimal, such as "1/5" or "0.2".'
        )
    if value.startswith("-"):
        raise ValueError(f"is {shown(value)}, which is negative; write a value from 0 to 1.")
    if "/" in value and int(value.partition("/")[2]) == 0:
        raise ValueError(f"is {shown(value)}, which divides by 0; write another denominator.")
    return Fraction(value)


def temperature(value: Fraction) -> Fraction:
    """Returns the temperature: 0, or 1/k for an integer k. Raises: ValueError."""
    if value.numerator > 1 or value.denominator > MAX_TEMPERATURE_INVERSE:
        raise ValueError(
            f'is {shown(str(value))}, but must be "0" or 1/k with k from 1 to '
            f"{MAX_TEMPERATURE_INVERSE}, so that probabilities stay rational; choose one of these."
        )
    return value


def top_k(value: int, *, vocab_size: int | None) -> int:
    """Returns the number of tokens that top-k keeps; a vocab_size of None is not checked.

    Raises: ValueError.
    """
    if value < 1 or (vocab_size is not None and value > vocab_size):
        most = "vocab_size" if vocab_size is None else f"vocab_size = {vocab_size}"
        raise ValueError(
            f"is {shown(value)}, but must be from 1 to {most}; correct it or leave it out."
        )
    return value


def top_p(value: Fraction) -> Fraction:
    """Returns the mass that top-p keeps. Raises: ValueError."""
    if not 0 < value <= 1:
        raise ValueError(f"is {shown(str(value))}, but must be above 0 and at most 1; correct it.")
    return value


def exponent(value: Fraction) -> Fraction:
    """Returns the exponent of a generated row. Raises: ValueError."""
    if value.denominator > 2 or not 0 < value <= 4:
        raise ValueError(
            f'is {shown(str(value))}, but must be a multiple of 1/2 from "1/2" to "4", so that '
            "weights are exact integers; choose one of these."
        )
    return value


def parents(value: object) -> tuple[int, ...]:
    """Returns the parents of the nodes of a draft tree, whether they fit or not.

    Raises: ValueError where they are not an array of at most MAX_NODES whole numbers.
    """
    if not isinstance(value, list):
        raise ValueError(
            f"is {shown(value)}, but must be an array such as [-1, -1, 0]; correct it."
        )
    if len(value) > MAX_NODES:
        raise ValueError(
            f"has {len(value)} nodes, above the bound of {MAX_NODES}; take a smaller tree."
        )
    for node, parent in enumerate(value):
        if type(parent) is not int:
            raise ValueError(
                f"holds {shown(parent)} for node {node}, but must hold node numbers, and -1 for "
                "the start of the round; correct it."
            )
    return tuple(value)


def prefix(key: str, *, vocab_size: int | None, longest: int | None) -> Prefix:
    """Returns the tokens of a key such as "0 1", () for ""; a bound of None is not checked.

    Raises: ValueError.
    """
    if not _PREFIX.fullmatch(key):
        raise ValueError(
            'is no prefix; write token ids with single spaces between, such as "0 1", and "" for '
            "the start of the round."
        )
    tokens = tuple(int(token) for token in key.split())
    if longest is not None and len(tokens) > longest:
        raise ValueError(
            f"has {counted(len(tokens), 'token')}, but the longest prefix of this table has "
            f"{longest}; remove it or raise num_speculative_tokens."
        )
    if vocab_size is not None and max(tokens, default=0) >= vocab_size:
        raise ValueError(
            f"holds token {max(tokens)}, but ids lie in 0..{vocab_size - 1}; correct it or "
            "raise vocab_size."
        )
    return tokens


def row(values: Sequence[Fraction], *, vocab_size: int | None) -> Row:
    """Returns the row of these probabilities; a vocab_size of None is not checked.

    Raises: ValueError.
    """
    wrong = []
    if vocab_size is not None and len(values) != vocab_size:
        wrong.append(
            f"has {len(values)} probabilities, but vocab_size is {vocab_size}; "
            "write one for each token."
        )
    if not _have_common_denominator(values):
        wrong.append(
            f"needs a common denominator of more than {MAX_DIGITS} digits; "
            "write all its probabilities over one denominator."
        )
    elif (total := sum(values, Fraction(0))) != 1:
        wrong.append(
            f"sums to {cut_short(str(total))}, but must sum to exactly 1; "
            f"{'take away' if total > 1 else 'add'} {cut_short(str(abs(total - 1)))}."
        )
    if wrong:
        raise ValueError(" It ".join(wrong))
    return Row.of(values)


def _have_common_denominator(values: Sequence[Fraction]) -> bool:
    common = 1
    for denominator in {value.denominator for value in values}:
        common = math.lcm(common, denominator)
        if common >= 10**MAX_DIGITS:  # stop here: the product of many would fill the memory
            return False
    return True
