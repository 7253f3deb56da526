"""How sampling rules are applied to the several tokens of a round: each to its own text, or not.

A loop that verifies several tokens at once has to apply penalties and grammars to each row with
the text of that row. Given the text before it and that its round got so far, every token of a
correct loop follows the target's law after all rules. Betting on each listed mistake therefore
makes an e-value, token by token, whatever the rule of verification and the draft are.

References: Ville (1939); Shafer (2021).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from audit.samplers.decoders.interface import LoadedDecoder
from audit.samplers.decoders.rules import HISTORY, Option, Rules, rules_of
from audit.state.calls import Call
from audit.state.rounds import rounds_of
from audit.state.watching import observed
from audit.state.world import World, with_rules
from audit.statistics.results import Result

TRIED: Mapping[str, Option] = {"repetition_penalty": 10.0, "grammar": "no-repeat"}
LEAST_POSTERIOR = 0.95
_MIX = 0.9  # the share of a bet that stands on its mistake


class Places(NamedTuple):
    """Emitted tokens and what their laws depend on, a row each.

    tokens int64 [rows]; logits float64 [rows, vocab]; text int64 [rows, length], -1 from the token
    on; started: so much of it as the round started from, likewise; bonus bool [rows].
    """

    tokens: Tensor
    logits: Tensor
    text: Tensor
    started: Tensor
    bonus: Tensor


Mistake = Callable[[Rules, Places], Tensor]


def _right(rules: Rules, places: Places) -> Tensor:
    return rules.after(places.logits, places.text)


def _round_start(rules: Rules, places: Places) -> Tensor:
    return rules.after(places.logits, places.started)


def _bonus_only(rules: Rules, places: Places) -> Tensor:
    bonus = places.bonus.unsqueeze(1)
    return torch.where(bonus, _right(rules, places), _ignored(rules, places))


def _no_bonus(rules: Rules, places: Places) -> Tensor:
    bonus = places.bonus.unsqueeze(1)
    return torch.where(bonus, _ignored(rules, places), _right(rules, places))


def _ignored(rules: Rules, places: Places) -> Tensor:
    return _right(rules.without_history(), places)


MISTAKES: Mapping[str, tuple[str, Mistake]] = {
    "round-start": ("all tokens of a round see the text that it started from", _round_start),
    "bonus-only": ("it is applied to the bonus token only", _bonus_only),
    "not-at-bonus": ("it is not applied to the bonus token", _no_bonus),
    "ignored": ("it is not applied", _ignored),
}


@dataclass(frozen=True)
class Positions(Result):
    """What the tokens of watched sequences say of one rule.

    rule, value: the rule. tokens: how many were judged, `later` of them not the first of their
    round. log_e: the highest natural logarithm of the e-value. leader: the likeliest mistake;
    posterior: its probability among the listed.
    """

    rule: str
    value: Option
    tokens: int
    later: int
    log_e: float
    leader: str
    posterior: float

    @property
    def meaning(self) -> str:
        """What the likeliest mistake does, "" where no listed one stands out."""
        return MISTAKES[self.leader][0] if self.posterior >= LEAST_POSTERIOR else ""


def positions(
    decoder: LoadedDecoder, world: World, sequences: int, *, seed: int
) -> tuple[Positions, ...]:
    """Returns what is seen of each rule that looks at the text and that the decoder applies.

    A rule that is in force already is looked at as it is. One that would leave no next token in
    this world is left out.
    """
    found = []
    for name in HISTORY:
        if name not in decoder.facts.rules or "rules" not in decoder.options:
            continue
        off = getattr(world.rules, name) == getattr(Rules(), name)
        rules = rules_of({**asdict(world.rules), name: TRIED[name]}) if off else world.rules
        ruled = with_rules(world, rules)
        if ruled is not None:
            found.append(_judged(decoder, ruled, name, sequences, seed=seed))
    return tuple(found)


def _judged(
    decoder: LoadedDecoder, world: World, name: str, sequences: int, *, seed: int
) -> Positions:
    rows = [
        row
        for number in range(sequences)
        for row in _rows(
            world,
            *observed(decoder, world, purpose=f"rules {name}", seed=seed, number=number),
        )
    ]
    wealth, later = torch.zeros(1, len(MISTAKES), dtype=torch.float64), 0
    if rows:
        places = Places(*(torch.stack(column) for column in zip(*rows, strict=True)))
        wealth = torch.cat([wealth, _gains(world, places).cumsum(0)])
        later = int((places.text != places.started).any(1).sum())
    shares = wealth[-1].softmax(0)
    leader = int(shares.argmax())
    return Positions(
        rule=name,
        value=getattr(world.rules, name),
        tokens=len(rows),
        later=later,
        log_e=float(wealth.logsumexp(1).max()) - math.log(len(MISTAKES)),
        leader=[*MISTAKES][leader],
        posterior=min(float(shares[leader]), 1.0),
    )


def _rows(world: World, calls: Sequence[Call], text: Sequence[int]) -> Iterator[Places]:
    """Yields each emitted token of a sequence whose calls could be read, as a row of `Places`."""
    if not all(call.readable for call in calls):
        return
    ids = torch.tensor(text)
    logits = world.logits(ids.unsqueeze(0))[0]
    for one in rounds_of(calls, text, len(world.prompt)):
        for end in range(one.start, one.length):
            bonus = torch.tensor(end == one.start + one.drafted)
            yield Places(ids[end], logits[end - 1], _cut(ids, end), _cut(ids, one.start), bonus)


def _cut(ids: Tensor, end: int) -> Tensor:
    return ids.masked_fill(torch.arange(len(ids)) >= end, -1)


def _gains(world: World, places: Places) -> Tensor:
    """Returns the logarithm of what each bet gains by each token, float64 [rows, mistakes]."""
    laws = [made(world.rules, places) for made in (_right, *(m for _, m in MISTAKES.values()))]
    shares = torch.stack([law.gather(1, places.tokens.unsqueeze(1)).squeeze(1) for law in laws], 1)
    right = shares[:, :1].clamp(min=world.tolerance)
    return ((1 - _MIX) + _MIX * shares[:, 1:] / right).log()
