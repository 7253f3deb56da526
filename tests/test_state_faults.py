"""The exact laws of the state faults: the page's table, and programs that share nothing with them.

No randomness: every law is compared as fractions.
"""

from __future__ import annotations

from fractions import Fraction

import pytest
from exact_instances import context_free, g2, i1
from exact_oracle import ONE, Tape, clip, positive_part, replayed

from audit.case import Case
from audit.errors import UsageError
from audit.exact.state_faults import STATE_FAULTS, state_fault
from audit.exact.state_laws import distance, sequence_law, state_law
from audit.samplers.decoders.faults import KEEPING

# algorithms.md, table of section 3.5: TV of 1, 2 and 3 tokens on G2 with one drafted token.
PAGE = {
    "K00": "0 0 0",
    "K01": "0 19/200 257/2000",
    "K02": "0 0 0",
    "K03": "0 11/300 1403/36000",
    "K04": "0 2/25 51/500",
    "K05": "0 0 7/40",
    "K06": "0 0 313/2000",
    "K07": "0 0 0",
    "K08": "0 0 19/1000",
    "K09": "0 0 19/1000",
    "K10": "0 43/300 1157/3000",
}
FAULTS = list(STATE_FAULTS.values())
LOSSLESS = {"K00", "K02", "K07"}


def total_variation(case: Case, fault: str, length: int, **more: object) -> Fraction:
    """Returns the distance of a fault's law from the target's own."""
    law = state_law(case, fault, length=length, **more)  # type: ignore[arg-type]
    prompt = more.get("prompt", ())
    return distance(law, sequence_law(case, length=length, prompt=prompt))  # type: ignore[arg-type]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.page)
def test_the_table_of_the_page(fault) -> None:
    found = [total_variation(g2(1), fault.id, length) for length in (1, 2, 3)]
    assert found == [Fraction(word) for word in PAGE[fault.page].split()]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.page)
def test_a_law_sums_to_one_and_lossless_faults_have_the_target_law(fault) -> None:
    assert fault.lossless == (fault.page in LOSSLESS)
    for shortened in (False, True):
        law = state_law(i1(), fault.id, length=4, prompt=(1,), shortened=shortened)
        assert sum(law.values()) == 1
        gap = total_variation(i1(), fault.id, 4, prompt=(1,), shortened=shortened)
        assert (gap == 0) == fault.lossless


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.page)
def test_context_free_rows_hide_every_state(fault) -> None:
    case = context_free(2, "1/5 1/2 3/10", "1/2 3/10 1/5")
    assert (total_variation(case, fault.id, 4) == 0) == (not fault.reseeded)


def test_the_target_law_is_that_of_a_correct_loop() -> None:
    assert state_law(g2(2), "correct", length=4) == sequence_law(g2(2), length=4)
    assert sum(sequence_law(g2(2), length=4, prompt=(1, 2)).values()) == 1


def row(rows, state: list[int]) -> list[Fraction]:
    return list(rows[tuple(state)])


def two_rounds(tape: Tape, case: Case, length: int, cut: int, *, draft_too: bool) -> list[int]:
    """Decodes by the book; the target's state (and the draft's) loses `cut` accepted tokens.

    cut: -1 leaves every drafted token in the state before the last token of a round.
    """
    text: list[int] = []
    p_state, q_state = list(text), list(text)
    while len(text) < length:
        drafted: list[int] = []
        for _ in range(case.num_speculative_tokens):
            drafted.append(tape.draw(row(case.draft, q_state + drafted)))
        n = 0
        while n < len(drafted):
            p, q = row(case.target, p_state + drafted[:n]), row(case.draft, q_state + drafted[:n])
            if not tape.coin(clip(p[drafted[n]], q[drafted[n]])):
                last = tape.draw(positive_part(p, q))
                break
            n += 1
        else:
            last = tape.draw(row(case.target, p_state + drafted))
        text += [*drafted[:n], last]
        kept = drafted if cut < 0 else drafted[: max(n - cut, 0)]
        p_state = [*p_state, *kept, last]
        q_state = [*q_state, *(kept if draft_too else drafted[:n]), last]
    return text[:length]


@pytest.mark.parametrize(
    ("fault", "cut", "draft_too"),
    [
        ("correct", 0, True),
        ("target-misses-accepted", 1, False),
        ("target-not-rolled-back", -1, False),
        ("nothing-rolled-back", -1, True),
    ],
)
def test_two_drafted_tokens_against_a_sampling_program(fault, cut, draft_too) -> None:
    case = g2(2)
    law = replayed(lambda tape: two_rounds(tape, case, 3, cut, draft_too=draft_too))
    assert {text: mass for text, mass in law.items() if mass} == state_law(case, fault, length=3)
    assert sum(law.values()) == ONE


def test_every_fault_has_its_code_and_an_unknown_one_is_named() -> None:
    assert set(KEEPING) == set(STATE_FAULTS)
    with pytest.raises(UsageError, match="did you mean target-misses-bonus"):
        state_fault("target-misses-bonuss")
