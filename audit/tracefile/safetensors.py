"""Tensors of a .safetensors file as streams.

The format is 8 bytes (the length of the header, little-endian), a JSON header that maps each name
to dtype, shape and byte offsets, and the bytes. It is read here directly, since the package's
numpy side knows no bfloat16.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import IO

import numpy as np

from audit.errors import unparsed
from audit.tracefile.columns import Column, Values
from audit.tracefile.problems import BadRecord
from audit.tracefile.rounds import check_names

MOST_HEADER_BYTES = 100_000_000
_DTYPES = {
    "F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2", "BOOL": "?",
    "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "<i1",
    "U64": "<u8", "U32": "<u4", "U16": "<u2", "U8": "<u1",
}  # fmt: skip


def columns(path: str, wanted: tuple[str, ...], stack: ExitStack) -> dict[str, Column]:
    """Returns the wanted tensors of a file; the stack closes it.

    Raises: BadRecord for a header that does not describe what is there.
    """
    with open(path, "rb") as file:
        start = file.read(8)
        size = struct.unpack("<Q", start)[0] if len(start) == 8 else 0
        if not 2 <= size <= min(MOST_HEADER_BYTES, Path(path).stat().st_size):
            raise BadRecord("header", size, "bytes are not what the file holds")
        text = file.read(size)
    try:
        header = json.loads(text)
        found = {name: header[name] for name in header if name in wanted}
    except (ValueError, RecursionError, TypeError) as error:
        raise BadRecord("header", unparsed(error), "is the reason why it cannot be read") from None
    check_names(header)
    made = {}
    for name, entry in found.items():
        stream = stack.enter_context(open(path, "rb"))  # noqa: SIM115 - the stack is one
        made[name] = _column(stream, name, entry, 8 + size)
    return made


def _column(stream: IO[bytes], name: str, entry: Mapping[str, object], base: int) -> Column:
    try:
        kind, shape = str(entry["dtype"]), tuple(int(n) for n in entry["shape"])  # type: ignore[attr-defined]
        first, last = (int(offset) for offset in entry["data_offsets"])  # type: ignore[attr-defined]
        dtype = np.dtype(_DTYPES[kind])
    except (KeyError, TypeError, ValueError):
        raise BadRecord(f"header.{name}", entry, "has no known dtype, shape, offsets") from None
    if min((0, first, *shape)) < 0 or last - first != dtype.itemsize * math.prod(shape):
        raise BadRecord(f"header.{name}", entry, "has a shape that its offsets do not fit")
    stream.seek(base + first)
    decode = _bfloat16 if kind == "BF16" else None
    return Column(name, dtype, shape, stream, half=kind in ("F16", "BF16"), decode=decode)


def _bfloat16(values: Values) -> Values:
    """Returns the numbers whose upper halves these are."""
    return (values.astype(np.uint32) << 16).view(np.float32)
