"""JSON lines, plain or gzipped, one record a line, never more than one line in memory."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, closing
from typing import IO, cast

from audit.errors import unparsed
from audit.tracefile.problems import BadRecord, CutOff

LONGEST_LINE = 2**28
_GZIP = b"\x1f\x8b"


def records(stream: IO[bytes]) -> Iterator[tuple[int, dict[str, object] | BadRecord]]:
    """Yields line number and fields of every line that is not empty, or what is wrong with it."""
    line = 0
    while True:
        line += 1
        try:
            text = stream.readline(LONGEST_LINE)
        except (EOFError, OSError, zlib.error) as error:
            yield line, CutOff("line", str(error), "ends the compressed file too early")
            return
        if not text:
            return
        if len(text) == LONGEST_LINE and not text.endswith(b"\n"):
            _skip(stream)
            yield line, BadRecord("line", len(text), f"bytes or more: at most {LONGEST_LINE}")
        elif text.strip():
            yield line, _fields(text)


def opened(path: str, stack: ExitStack) -> IO[bytes]:
    """Returns the stream of a file of JSON lines, unpacked where it is gzipped."""
    stream = stack.enter_context(open(path, "rb"))  # noqa: SIM115 - the stack is one
    if stream.peek(2)[:2] != _GZIP:
        return stream
    return cast(IO[bytes], stack.enter_context(closing(gzip.GzipFile(fileobj=stream))))


def _skip(stream: IO[bytes]) -> None:
    """Reads on to the end of the line."""
    while (text := stream.readline(LONGEST_LINE)) and not text.endswith(b"\n"):
        pass


def _fields(text: bytes) -> dict[str, object] | BadRecord:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        wrong = BadRecord if text.endswith(b"\n") else CutOff
        return wrong("line", text[:40].decode("utf-8", "replace"), f"is no JSON: {unparsed(error)}")
    if not isinstance(found, dict):
        return BadRecord("line", found, "is no JSON object")
    return found
