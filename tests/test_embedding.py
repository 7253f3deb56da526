"""Text inside a page: what goes in comes out, and what is damaged is refused."""

from __future__ import annotations

import base64
import sys
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.embedding import embed, embedded_in

OPEN = '<script type="application/{}" id="_record">'
XZ, DEFLATE = OPEN.format("x-xz"), OPEN.format("zlib")


@given(st.text())
def test_any_text_comes_back(text: str) -> None:
    text = text.encode("utf-8", "replace").decode()
    block = embed(text)
    assert embedded_in(f"<!doctype html><p>{XZ[:9]}</p>{block}</html>") == text
    assert "<" not in block[1:-9]


def test_pages_of_earlier_versions_are_read() -> None:
    plain = '<script type="application/json" id="record">{"a": 1}</script>'
    deflated = f"{DEFLATE}{base64.b64encode(zlib.compress(b'[2]')).decode()}</script>"
    assert embedded_in(f"<!doctype html>{plain}") == '{"a": 1}'
    assert embedded_in(f"<!doctype html>{deflated}") == "[2]"


def test_a_python_without_xz_deflates_and_says_what_it_cannot_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    packed = embed("{}")
    monkeypatch.setitem(sys.modules, "lzma", None)
    assert embed("{}").startswith(DEFLATE)
    assert embedded_in(embed("{}")) == "{}"
    with pytest.raises(ValueError, match="packed with xz, which this Python cannot read"):
        embedded_in(packed)


@pytest.mark.parametrize(
    "block",
    [
        "",
        embed("{}")[:60],
        f"{DEFLATE}é</script>",
        f"{DEFLATE}eNqr</script>",
        f"{DEFLATE}AAAA",
        f"{XZ}AAAA</script>",
        f"{XZ}{base64.b64encode(b'no xz at all').decode()}</script>",
    ],
)
def test_a_block_that_is_missing_or_damaged_is_refused(block: str) -> None:
    with pytest.raises(ValueError, match=r"carries|[Pp]adding|ASCII"):
        embedded_in(f"<!doctype html>{block}")
