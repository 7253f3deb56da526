"""The rounds of a decode loop, read off the calls of its models and the text that it emitted.

A round is a stretch of the draft's calls and the target's calls after them, the first of which
verifies the draft: what it was handed agrees with the text up to the first rejected token.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Literal, NamedTuple

from audit.state.calls import Call

Ending = Literal["rejection", "full acceptance", "start"]


class Round(NamedTuple):
    """The numbers of a round's calls, how it ended, and how long the text then was."""

    target: tuple[int, ...]
    draft: tuple[int, ...]
    ending: Ending
    length: int


def rounds_of(calls: Sequence[Call], text: Sequence[int]) -> Iterator[Round]:
    """Yields the rounds within the text: calls of the target, and the draft's before them.

    Where a draft model is asked at all, a target call before which it was not asked emits nothing.
    """
    drafting = any(call.side == "draft" for call in calls)
    drafts: tuple[int, ...] = ()
    for side, group in groupby(range(len(calls)), key=lambda i: calls[i].side):
        own = tuple(group)
        if side == "draft":
            drafts = own
            continue
        ending, length = _ending(calls[own[0]], text)
        if drafting and not drafts:
            ending, length = "start", length - 1
        if length <= len(text):
            yield Round(own, drafts, ending, length)
        drafts = ()


def _ending(verified: Call, text: Sequence[int]) -> tuple[Ending, int]:
    """Returns how the round of a verifying call ended, and how long the text was then."""
    for place, token in enumerate(verified.tokens, start=verified.held):
        if place < len(text) and token != text[place]:
            return "rejection", place + 1
    return "full acceptance", verified.held + len(verified.tokens) + 1


def until(rounds: Iterable[Round], length: int) -> list[Round]:
    """Returns the rounds before the text grew beyond a length."""
    found: list[Round] = []
    for one in rounds:
        if one.length > length or (found and found[-1].length == length):
            break
        found.append(one)
    return found
