"""Each step of a decode loop against a forward from scratch: did the model see the emitted text?

A token of the text was decided by the target's law after the text before it. So some call must
have read exactly that much of the text (else the state has the wrong length), and its law must be
that of a fresh forward of the emitted prefix (else the state holds something else). Tokens of a
call count as long as they agree with the text: what follows a rejected draft decides nothing.

The draft is held against the text of its round, the emitted prefix and the drafted tokens. Where
its state departs, acceptance is lost and nothing else, as long as q is recorded from it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from audit.state.calls import SIDES, Call, Side
from audit.state.rounds import Ending, Round, rounds_of, until
from audit.state.world import Laws
from audit.statistics.results import Result


@dataclass(frozen=True)
class Departure(Result):
    """The first step of a sequence that saw another text than was emitted.

    position: the token that it decided, from 1 on. content: the state had the right length, and
    the law differs by `difference` (total variation); else no law was asked for at this length.
    held: tokens in the state before that call, or the next one, and `read` those of the call;
    text: tokens of prompt and text before the one that was decided. after: how the round before
    had ended. position_id: the one that the first token of the call was given, if any was.
    """

    side: Side
    position: int
    content: bool
    difference: float
    held: int
    read: int
    text: int
    after: Ending
    position_id: int | None = None


@dataclass(frozen=True)
class Steps:
    """What the calls of one sequence show.

    compared: laws compared, by side; largest: their largest distance from those from scratch.
    readable: every call could be read; if not, departures mean nothing.
    """

    rejections: int
    full_acceptances: int
    compared: Mapping[Side, int]
    largest: Mapping[Side, float]
    departures: tuple[Departure, ...]
    readable: bool


class _Found(NamedTuple):
    """Laws compared up to the first that departs: the length of its text, its call and distance.

    Call and distance are None where no law was asked for at this length.
    """

    laws: int = 0
    largest: float = 0.0
    length: int | None = None
    call: Call | None = None
    distance: float | None = None


def steps_of(
    calls: Sequence[Call],
    text: Sequence[int],
    *,
    prompt: int,
    scratch: tuple[Laws, Laws | None],
    tolerance: float,
) -> Steps:
    """Returns what the calls of a sequence show; text is the prompt and all emitted tokens.

    prompt: its length. scratch: target and draft without a state, None for a draft that reads other
    tokens. tolerance: of a distance.
    """
    rounds = list(rounds_of(calls, text, prompt))
    own = [call for call in calls if call.side == "target"]
    target = _compared(own, text, range(prompt, len(text)), scratch[0], tolerance)
    sound = rounds if target.length is None else until(rounds, target.length)
    number, draft = -1, _Found()
    while scratch[1] is not None and draft.length is None and number + 1 < len(sound):
        number += 1
        draft = _with_draft(draft, calls, sound[number], text, scratch[1], tolerance)
    found = {"target": target, "draft": draft}
    departures = (
        _departure("target", target, calls, sound, prompt),
        _departure("draft", draft, calls, sound[:number], prompt),
    )
    return Steps(
        rejections=sum(one.ending == "rejection" for one in rounds),
        full_acceptances=sum(one.ending == "full acceptance" for one in rounds),
        compared={side: found[side].laws for side in SIDES},
        largest={side: found[side].largest for side in SIDES},
        departures=tuple(one for one in departures if one is not None),
        readable=all(call.readable for call in calls) and bool(own),
    )


def _with_draft(
    before: _Found,
    calls: Sequence[Call],
    one: Round,
    text: Sequence[int],
    scratch: Laws,
    tolerance: float,
) -> _Found:
    """Returns the comparison with the draft's calls of one more round."""
    if not one.draft:
        return before
    verified = calls[one.target[0]]
    drafted = [*text[: verified.held], *verified.tokens]
    asked = [calls[i] for i in one.draft]
    new = _compared(asked, drafted, [len(drafted) - 1], scratch, tolerance)
    return new._replace(laws=before.laws + new.laws, largest=max(before.largest, new.largest))


def _compared(
    calls: Iterable[Call],
    text: Sequence[int],
    wanted: Iterable[int],
    scratch: Laws,
    tolerance: float,
) -> _Found:
    """Returns the laws asked for while calls read `text`, beside those from scratch.

    wanted: the lengths at which a law was needed.
    """
    found: dict[int, list[tuple[Call, Tensor]]] = {length: [] for length in wanted}
    for call in calls:
        for length, law in _read(call, text):
            found.setdefault(length, []).append((call, law))
    fresh = scratch(torch.tensor([list(text)]))[0]
    laws, largest = 0, 0.0
    for length in sorted(found):
        for call, law in found[length]:
            distance = float((law - fresh[length - 1]).abs().sum()) / 2
            laws, largest = laws + 1, max(largest, distance)
            if distance > tolerance:
                return _Found(laws, largest, length, call, distance)
        if not found[length]:
            return _Found(laws, largest, length)
    return _Found(laws, largest)


def _read(call: Call, text: Sequence[int]) -> Iterator[tuple[int, Tensor]]:
    """Yields how much of the text was read and the law then, while the call agrees with it."""
    for place, (token, law) in enumerate(zip(call.tokens, call.laws, strict=True), call.held):
        if place >= len(text) or token != text[place]:
            return
        if law is not None:
            yield place + 1, law


def _departure(
    side: Side, found: _Found, calls: Sequence[Call], before: Sequence[Round], prompt: int
) -> Departure | None:
    """Returns the departure of one side, if there is one, after the rounds before it."""
    if found.length is None:
        return None
    later = calls[before[-1].target[0] + 1 if before else 0 :]
    asked = [call for call in later if call.side == side and call.tokens]
    call = found.call or (asked[0] if asked else None)
    return Departure(
        side=side,
        position=found.length - prompt + 1,
        content=found.distance is not None,
        difference=found.distance or 0.0,
        held=call.held if call else 0,
        read=len(call.tokens) if call else 0,
        text=found.length,
        after=before[-1].ending if before else "start",
        position_id=call.position if call else None,
    )
