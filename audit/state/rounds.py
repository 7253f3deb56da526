"""The rounds of a decode loop, read off the calls of its models and the text that it emitted.

A round is a stretch of the draft's calls and the target's calls after them, the first of which
verifies the draft: what it was handed agrees with the text up to the first rejected token. Where no
draft model is asked, as with drafts from the text itself, every call of the target is a round.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Literal, NamedTuple

from audit.state.calls import Call

Ending = Literal["rejection", "full acceptance", "no draft", "start"]


class Round(NamedTuple):
    """The numbers of a round's calls, and how it ended.

    start, length: tokens of the text before and after it; drafted: tokens that were verified.
    """

    target: tuple[int, ...]
    draft: tuple[int, ...]
    ending: Ending
    start: int
    length: int
    drafted: int


def rounds_of(calls: Sequence[Call], text: Sequence[int], prompt: int) -> Iterator[Round]:
    """Yields the rounds within the text, which starts with a prompt of so many tokens.

    Where a draft model is asked at all, a target call before which it was not asked emits nothing.
    """
    drafting = any(call.side == "draft" for call in calls)
    drafts: tuple[int, ...] = ()
    before = prompt
    for side, group in groupby(range(len(calls)), key=lambda i: calls[i].side):
        own = tuple(group)
        if side == "draft":
            drafts = own
            continue
        own = _from_verifying(calls, own, before)
        verified = calls[own[0]]
        ending, length = _ending(verified, text)
        drafted = verified.held + len(verified.tokens) - before
        if drafting and not drafts:
            ending, length = "start", length - 1
        elif drafted <= 0:
            ending = "no draft"
        if length <= len(text):
            yield Round(own, drafts, ending, before, length, drafted)
        drafts, before = (), length


def _from_verifying(calls: Sequence[Call], own: tuple[int, ...], before: int) -> tuple[int, ...]:
    """Returns the target's calls without those, ahead of the verifying one, that read the prompt.

    Some engines draft first and read the target's prompt only when there is something to verify.
    """
    reading = [calls[i].held + len(calls[i].tokens) <= before for i in own]
    return own if all(reading) else own[reading.index(False) :]


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
