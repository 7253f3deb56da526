"""Text inside a page: what goes in comes out, and what is damaged is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.embedding import OPEN, embed, embedded_in


@given(st.text())
def test_any_text_comes_back(text: str) -> None:
    text = text.encode("utf-8", "replace").decode()
    block = embed(text)
    assert embedded_in(f"<!doctype html><p>{OPEN[:9]}</p>{block}</html>") == text
    assert "<" not in block[1:-9]


def test_the_first_pages_held_plain_json() -> None:
    block = '<script type="application/json" id="record">{"a": 1}</script>'
    assert embedded_in(f"<!doctype html>{block}") == '{"a": 1}'


@pytest.mark.parametrize(
    "block", ["", embed("{}")[:60], f"{OPEN}é</script>", f"{OPEN}eNqr</script>", f"{OPEN}AAAA"]
)
def test_a_block_that_is_missing_or_damaged_is_refused(block: str) -> None:
    with pytest.raises(ValueError, match=r"carries|[Pp]adding|ASCII"):
        embedded_in(f"<!doctype html>{block}")
