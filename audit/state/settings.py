"""What a state audit may be told."""

from __future__ import annotations

from dataclasses import dataclass

from audit.case import Prefix
from audit.errors import UsageError
from audit.state.worlds import PROMPT


@dataclass(frozen=True)
class StateSettings:
    """What a state audit may be told.

    sequences: the most a world. watched: sequences whose every call is compared. tokens: how many
    are judged together, None for one more than a round can emit. architectures: tiny random models
    of transformers to run in as well.
    """

    seed: int = 0
    sequences: int = 5_000
    watched: int = 100
    tokens: int | None = None
    prompt: Prefix = PROMPT
    epsilon: float = 0.1
    alpha: float = 1e-6
    delta: float = 1e-3
    architectures: tuple[str, ...] = ()


def prompt_of(text: str) -> Prefix:
    """Returns the token ids of a text such as "1,0".

    >>> prompt_of("1,0")
    (1, 0)

    Raises: UsageError where it holds anything else.
    """
    words = text.split(",")
    if not all(word.strip().isdecimal() for word in words):
        raise UsageError(f"--prompt {text!r} is not a list of token ids with commas, such as 1,0.")
    return tuple(int(word) for word in words)
