"""What was read off the code, in words."""

from __future__ import annotations

from dataclasses import replace

import pytest
import sample_record as sample

from audit.judgement.steered import statement
from audit.render.html import page
from audit.render.steered import MOST_EDGES, steered_facts
from audit.render.text import audit_text
from audit.render.words import LAW_COLUMN
from audit.steered import CodeEdge, NotSteered, Steered, SteeredEvidence

FOUND = SteeredEvidence(
    map=0.0, generators=0.0, rows=69_000, mismatches=0, calls=690, broken_calls=0, delta=1e-3,
    tolerance=1e-6, mode="Batched", search_calls=9, search_rows=99, edges=(), readings=(),
)  # fmt: skip
NEVER = CodeEdge("out of range", (0,), (3,), "number 3 = exactly 1", 0.0, "warning")
PROVEN = CodeEdge("impossible token", (0,), (2,), "torch.rand = 0", 6e-8, "note")


def said(found: SteeredEvidence, term: str) -> list[str]:
    """Returns what is said under a term."""
    return [value for name, value in steered_facts(found) if name == term]


def test_of_what_the_generator_never_gives_one_is_told_and_the_others_counted() -> None:
    edges = (NEVER, replace(NEVER, number="all numbers = 1"), PROVEN, NEVER)
    first, second = said(replace(FOUND, edges=edges), "Edge")
    assert first.startswith("note: impossible token [2]")
    assert second.startswith("warning: out of range [3]")
    assert second.endswith("number 3 = exactly 1 (the generator never gives it); 2 more of them")


def test_what_the_generator_can_give_is_told_a_few_times() -> None:
    assert len(said(replace(FOUND, edges=(PROVEN,) * 9), "Edge")) == MOST_EDGES


def test_a_bound_that_stands_beside_is_not_repeated() -> None:
    assert said(FOUND, "Read off the code") == [statement(FOUND)]
    terms = dict(steered_facts(FOUND, said=f"certified; {statement(FOUND)}"))
    assert "Read off the code" not in terms
    assert "Search" in terms


def test_without_a_law_the_reason_is_told() -> None:
    reason = NotSteered("it reads a clock")
    assert steered_facts(reason) == [("Read off the code", "nothing: it reads a clock")]


@pytest.mark.parametrize(
    ("steered", "read"), [(NotSteered("it reads a clock"), False), (FOUND, True)]
)
def test_only_where_a_law_was_read_a_table_has_a_column_for_it(
    steered: Steered, read: bool
) -> None:
    case = sample.good().model_copy(update={"steered": steered})
    settings = sample.record().settings.model_copy(update={"method": "both"})
    record = sample.record(sample.audit("s", case), settings=settings, control=None)
    text = audit_text(record, color=False, width=160)
    assert f"tier smoke, {'laws' if read else 'no law'} read off the code, up to" in text
    heading = next(line for line in text.splitlines() if line.startswith("case"))
    assert ("law" in heading.split()) == read
    assert (LAW_COLUMN in text) == read
    assert ("stay within its bounds on every case" in " ".join(text.split())) == read
    assert ("Certified: by the law" in page(record)) == read
