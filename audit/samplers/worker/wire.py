"""Messages through pipes and tensors through the in-memory file, for both ends.

A message is four bytes of length, then JSON.
"""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Callable
from typing import Any, NamedTuple

import torch

_LENGTH = struct.Struct("<I")
_LONGEST = 1 << 24


class Stored(NamedTuple):
    """Where a tensor lies in the file; a dimension of stride 0 is stored once, as size 1."""

    name: str
    dtype: str
    shape: list[int]
    stored_shape: list[int]
    offset: int


def send(pipe: int, message: dict[str, Any]) -> None:
    """Writes one message."""
    data = json.dumps(message).encode()
    view = memoryview(_LENGTH.pack(len(data)) + data)
    while view:
        view = view[os.write(pipe, view) :]


def receive(pipe: int, wait: Callable[[], None] = lambda: None) -> dict[str, Any]:
    """Returns the next message; `wait` is called before each read.

    Raises: EOFError where the other end is closed; ValueError where it sent no message.
    """
    (length,) = _LENGTH.unpack(_exactly(pipe, _LENGTH.size, wait))
    if length > _LONGEST:
        raise ValueError(f"a message of {length} bytes")
    message: dict[str, Any] = json.loads(_exactly(pipe, length, wait))
    return message


def _exactly(pipe: int, size: int, wait: Callable[[], None]) -> bytes:
    data = b""
    while len(data) < size:
        wait()
        part = os.read(pipe, size - len(data))
        if not part:
            raise EOFError
        data += part
    return data


def as_bytes(tensor: torch.Tensor) -> torch.Tensor:
    """Returns the memory of a contiguous tensor, uint8 [bytes]."""
    # A dimension of size 1 may have any stride, which view() alone would not accept.
    return tensor.as_strided((tensor.numel(),), (1,)).view(torch.uint8)


def write_tensor(file: int, tensor: torch.Tensor, offset: int) -> None:
    """Writes a contiguous tensor on the CPU into the file."""
    view = as_bytes(tensor).numpy().data
    while view:
        written = os.pwrite(file, view, offset)
        view, offset = view[written:], offset + written


def read_tensor(file: int, dtype: torch.dtype, shape: Any, offset: int) -> torch.Tensor:
    """Returns a new tensor on the CPU, read from the file. Raises EOFError where it is short."""
    tensor = torch.empty(tuple(shape), dtype=dtype, device="cpu")
    view = as_bytes(tensor).numpy().data
    while view:
        count = os.preadv(file, [view], offset)
        if count == 0:
            raise EOFError
        view, offset = view[count:], offset + count
    return tensor


def read_stored(file: int, stored: Stored) -> torch.Tensor:
    """Returns a new tensor of the stored shape."""
    dtype = getattr(torch, stored.dtype)
    return read_tensor(file, dtype, stored.stored_shape, stored.offset)
