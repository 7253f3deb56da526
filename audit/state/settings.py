"""What a state audit may be told."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from audit.case import Prefix
from audit.errors import UsageError
from audit.samplers.decoders.rules import RULES, Option, Rules, rules_of
from audit.state.worlds import PROMPT


@dataclass(frozen=True)
class StateSettings:
    """What a state audit may be told.

    sequences: the most a world. watched: sequences whose every call is compared. tokens: how many
    are judged together, None for one more than a round can emit. architectures: tiny random models
    of transformers to run in as well. options: sampling rules, by the names of `Rules`, and keyword
    arguments of the decoder.
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
    options: Mapping[str, Option] = field(default_factory=dict)

    @property
    def rules(self) -> Rules:
        """The sampling rules among the options. Raises: UsageError for a value that is none."""
        return rules_of({name: value for name, value in self.options.items() if name in RULES})

    @property
    def arguments(self) -> dict[str, Option]:
        """The options that are the decoder's own."""
        return {name: value for name, value in self.options.items() if name not in RULES}


def options_of(texts: Iterable[str]) -> dict[str, Option]:
    """Returns options by name from texts such as "top_k=3", numbers as numbers.

    >>> options_of(["top_k=3", "temperature=.5", "form=prompt-lookup"])
    {'top_k': 3, 'temperature': 0.5, 'form': 'prompt-lookup'}

    Raises: UsageError for a text without "=", or a name given twice.
    """
    options: dict[str, Option] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not (name and equals and value):
            raise UsageError(f"--option {text!r} is not KEY=VALUE, such as temperature=0.7.")
        if name in options:
            raise UsageError(f"--option {name} is given twice; give it once.")
        options[name] = _number(value)
    return options


def _number(text: str) -> Option:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


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
