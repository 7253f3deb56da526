"""A record inside a page: JSON packed and in base64, in a data block that no browser runs.

xz takes a third less than deflate, whose window is shorter than the record of a few cases. A Python
that was built without it packs with deflate; the first pages held plain JSON.
"""

from __future__ import annotations

import base64
import importlib
import re
import zlib
from types import ModuleType

_KINDS = {"x-xz": "lzma", "zlib": "zlib"}  # by preference
_BLOCK = '<script type="application/{kind}" id="_record">{packed}</script>'
_ANY = re.compile(r'<script type="application/(json|x-xz|zlib)" id="_?record">(.*?)</script>', re.S)


def embed(text: str) -> str:
    """Returns the data block of a page that holds the text.

    >>> embedded_in(f"<p>A page</p>{embed('{}')}")
    '{}'
    """
    kind, codec = next((kind, codec) for kind in _KINDS if (codec := _codec(kind)))
    packed = base64.b64encode(codec.compress(text.encode())).decode()
    return _BLOCK.format(kind=kind, packed=packed)


def embedded_in(page: str) -> str:
    """Returns the text in the data block of a page. Raises ValueError where there is none."""
    block = _ANY.search(page)
    if block is None:
        raise ValueError("the page carries no record")
    kind, packed = block.groups()
    return packed if kind == "json" else _unpacked(kind, packed)


def _unpacked(kind: str, packed: str) -> str:
    codec = _codec(kind)
    if codec is None:
        raise ValueError("the page carries a record packed with xz, which this Python cannot read")
    data = base64.b64decode(packed, validate=True)
    try:
        text: bytes = codec.decompress(data)
    except (zlib.error, EOFError, getattr(codec, "LZMAError", zlib.error)) as error:
        raise ValueError(f"what the page carries is damaged ({error})") from error
    return text.decode()


def _codec(kind: str) -> ModuleType | None:
    """Returns the module that packs so, None where this Python was built without it."""
    try:
        return importlib.import_module(_KINDS[kind])
    except ImportError:
        return None
