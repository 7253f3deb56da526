"""From what was measured in a world to what is concluded of it, in sentences.

Broken: the law fails, a call of the target saw another text than was emitted, greedy text departs
by more than a tie, text goes on behind its stop token, a rule is not applied to each token with its
own text, or reported log-probabilities are not those of the law. A draft state that departs is a
note: the emitted law does not depend on it where q is recorded from that state.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from audit.plural import are, counted
from audit.state.checks import Greedy, Stops
from audit.state.law import LawReading, StateBudget
from audit.state.positions import Positions
from audit.state.reported import Reported
from audit.state.steps import Departure
from audit.state.watching import StepReading

FEWEST = 20  # rejections and full acceptances, each, before a state test counts as passed
FEWEST_DISTINCT = 10  # outputs, or all where fewer are possible
SLOW = "the law does not show it: lossless, but fewer drafts are accepted"


@dataclass(frozen=True)
class Findings:
    """Sentences: what is broken, what is dependent, and what fails nothing."""

    broken: tuple[str, ...]
    dependent: str
    notes: tuple[str, ...]


def findings(
    *,
    law: Sequence[str],
    dependent: str,
    steps: StepReading,
    greedy: Greedy | None,
    stops: Stops | None,
    rules: Sequence[Positions],
    reported: Reported | None,
    repeatable: bool,
    budget: StateBudget,
) -> Findings:
    """Returns the findings of one world; `law` holds what is proven against its law."""
    broken = [*law, *_steps(steps), *_greedy(greedy), *_stops(stops, budget)]
    broken += [*_rules(rules, budget), *_reported(reported)]
    notes = [*_draft(steps, broken=bool(law)), *_unread(steps), *_tie(greedy)]
    notes += [*_elsewhere(law, steps), *_convention(reported)]
    if not repeatable:
        notes.append("the same seed gives another text, so that a run cannot be repeated")
    return Findings(tuple(broken), dependent, tuple(notes))


def described(departure: Departure) -> str:
    """Returns a departure in words.

    >>> described(Departure("target", 2, False, 0.0, 5, 1, 3, "rejection"))
    'token 2, after a rejection: no call read just the 3 tokens before it; one added 1 to 5'
    """
    where = f"token {departure.position}"
    where += "" if departure.after == "start" else f", after a {departure.after}"
    if departure.content:
        where += f": the law differs by {departure.difference:.2g} from that of the text"
    else:
        where += (
            f": no call read just the {counted(departure.text, 'token')} before it; one "
            f"added {departure.read} to {departure.held}"
        )
    if departure.position_id in (None, departure.held):
        return where
    return f"{where}, with position ids from {departure.position_id}"


def enough(rejections: int, full_acceptances: int, distinct: int, *, possible: int) -> str:
    """Returns what was seen too rarely for a pass, "" where nothing was.

    distinct: the different outputs seen, of `possible` ones.
    """
    seen = (
        ("rejections", rejections, FEWEST),
        ("full acceptances", full_acceptances, FEWEST),
        ("distinct outputs", distinct, min(FEWEST_DISTINCT, possible)),
    )
    few = [f"{number} {what} of {least}" for what, number, least in seen if number < least]
    return f"too few events for a pass: {', '.join(few)}" if few else ""


def uncertified(law: LawReading, budget: StateBudget, *, needed: int | None, exempt: bool) -> str:
    """Returns why a world in which nothing failed is still undecided, "" where it is not.

    needed: sequences at which a correct loop is expected to be certified. exempt: the calls of the
    target were compared in a world of real models, which decides where the law is too large.
    """
    if exempt or (law.certified is not None and law.certified <= budget.epsilon):
        return ""
    bound = 1.0 if law.certified is None else law.certified
    more = "its law is too large"
    if needed:
        more = f"about {counted(needed, 'sequence')} {are(needed)} needed"
    return f"U = {bound:.3g}, epsilon = {budget.epsilon:g}: {more}"


def _steps(steps: StepReading) -> list[str]:
    first = steps.first[0]
    if first is None or not steps.readable:
        return []
    share = f"{steps.departing[0]} of {counted(steps.sequences, 'sequence')}"
    return [f"the target's state departs from the text in {share}; {described(first)}"]


def _draft(steps: StepReading, *, broken: bool) -> list[str]:
    first = steps.first[1]
    if first is None or not steps.readable or steps.first[0] is not None:
        return []
    share = f"{steps.departing[1]} of {counted(steps.sequences, 'sequence')}"
    effect = "" if broken else f"; {SLOW}"
    return [f"the draft's state departs from the text in {share}; {described(first)}{effect}"]


def _elsewhere(law: Sequence[str], steps: StepReading) -> list[str]:
    """Returns where to look where the law fails although every call of the target was right."""
    if not law or not steps.readable or steps.first[0] is not None:
        return []
    return [
        "every law of the target was that of the emitted text: the mistake is in the rule, in q, "
        "in the sampling rules, or in a map between vocabularies"
    ]


def _unread(steps: StepReading) -> list[str]:
    if steps.readable:
        return []
    return ["the calls of the models could not be read, so that no step was compared"]


def _greedy(greedy: Greedy | None) -> list[str]:
    if greedy is None or not greedy.structural:
        return []
    return [
        f"greedy text departs from plain decoding on {greedy.different} of {greedy.prompts} "
        f"prompts; at token {greedy.first} the best token leads by {greedy.margin:.1%}: no tie"
    ]


def _tie(greedy: Greedy | None) -> list[str]:
    if greedy is None or greedy.first is None or greedy.structural:
        return []
    return [f"greedy text departs from plain decoding at token {greedy.first}, where two tie"]


def _stops(stops: Stops | None, budget: StateBudget) -> list[str]:
    if stops is None:
        return []
    found = []
    if stops.beyond:
        found.append(f"{stops.beyond} of {stops.stopped} texts go on behind their stop token")
    if stops.log_e >= budget.log_threshold(StateBudget.STOPS):
        found.append("with a stop token the law of the text is not the target's")
    return found


def _rules(rules: Sequence[Positions], budget: StateBudget) -> list[str]:
    found = []
    for one in rules:
        if one.log_e >= budget.log_threshold(StateBudget.RULES):
            power = one.log_e / math.log(10)
            meaning = one.meaning or "the tokens of a round do not follow it"
            found.append(f"{one.rule} {one.value}: {meaning}, e-value 10^{power:.1f}")
    return found


def _reported(told: Reported | None) -> list[str]:
    if told is None or not told.broken:
        return []
    found = []
    if told.wrong:
        like = f": they are those of {told.like}" if told.like else ""
        found.append(
            f"{told.wrong} of {told.tokens} reported log-probabilities are not those of the law, "
            f"by up to {told.largest:.2g}{like}"
        )
    if told.missing:
        found.append(f"{told.missing} of {told.tokens} tokens have no reported log-probability")
    if told.beyond:
        found.append(f"{told.beyond} log-probabilities are reported behind the end of a text")
    return found


def _convention(told: Reported | None) -> list[str]:
    if told is None or told.broken or not told.wrong:
        return []
    return [f"the reported log-probabilities are those of {told.like}"]
