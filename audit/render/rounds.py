"""What the rounds of each case accept: how many tokens, at which position, and the bonus token."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple

from audit.evidence import AcceptedTokens, BonusToken
from audit.plural import on_average
from audit.record import CaseResult
from audit.render.words import cell

MOST_POSITIONS = 8


class Rounds(NamedTuple):
    """The rounds of one case; every cell is what was observed and what its rule lets expect.

    accepted: shares of the rounds that accept 0, 1, 2, ... tokens. positions: shares of the rounds
    that reach position 1, 2, ... and accept there.
    """

    case: str
    rule: str
    accepted: list[tuple[str, str]]
    positions: list[tuple[str, str]]
    bonus: str


def rounds_of(cases: Iterable[CaseResult]) -> list[Rounds]:
    """Returns the rounds of the cases that were counted; old records have none."""
    return [
        Rounds(
            case.id,
            " or ".join(found.acceptance.rules),
            _pairs(_shares(tokens.rounds), tokens.law),
            _pairs(_at_position(tokens.rounds), _at_position(tokens.law)),
            bonus_sentence(found.bonus, bins=found.deviation.bins),
        )
        for case in cases
        if (found := case.evidence) and (tokens := _known(found.acceptance.tokens))
    ]


def _known(tokens: AcceptedTokens | None) -> AcceptedTokens | None:
    return tokens if tokens is not None and tokens.rounds else None


def _shares(rounds: Sequence[int]) -> list[float]:
    return [n / sum(rounds) for n in rounds]


def _at_position(rounds: Sequence[float]) -> list[float]:
    """Returns P(position k is accepted, given that it is reached), as far as any is reached.

    >>> _at_position([25, 25, 50])
    [0.75, 0.6666666666666666]
    """
    at_least = list(accumulate(reversed(rounds)))[::-1]
    return [accepted / reached for reached, accepted in pairwise(at_least) if reached]


def _pairs(seen: Sequence[float], law: Sequence[float]) -> list[tuple[str, str]]:
    """Returns observed and expected shares as text, the expected ones "" where unknown."""
    wanted = [*map(_share, law), *["–" if law else ""] * (len(seen) - len(law))]
    return list(zip(map(_share, seen), wanted, strict=False))[:MOST_POSITIONS]


def _share(share: float) -> str:
    """Returns a share to four places, none and all of them in one figure.

    >>> _share(0.25), _share(1.0)
    ('0.2500', '1')
    """
    return f"{share:.0f}" if share in (0, 1) else f"{share:.4f}"


def bonus_sentence(bonus: BonusToken | None, *, bins: bool = False) -> str:
    """Returns the bonus token, or ratio bin, that is farthest from its row; "" for no bonus.

    >>> bonus_sentence(BonusToken((0, 1), (40, 60), (50.0, 50.0)))
    'token 0: 40 of 100 (50.0 expected)'
    """
    if bonus is None or not bonus.tokens:
        return ""
    rows = zip(bonus.tokens, bonus.observed, bonus.expected, strict=True)
    token, seen, mean = max(rows, key=lambda row: abs(row[1] - row[2]))
    found = f"{cell(token, bins=bins)}: {seen:,} of {sum(bonus.observed):,}"
    return f"{found} ({on_average(mean)} expected)"
