"""A record inside a page: deflated JSON in base64, in a data block that no browser runs."""

from __future__ import annotations

import base64
import zlib

OPEN, CLOSE = '<script type="application/zlib" id="_record">', "</script>"
_PLAIN_OPEN = '<script type="application/json" id="record">'  # pages of the first versions


def embed(text: str) -> str:
    """Returns the data block of a page that holds the text.

    >>> embedded_in(f"<p>A page</p>{embed('{}')}")
    '{}'
    """
    packed = base64.b64encode(zlib.compress(text.encode(), 9)).decode()
    return f"{OPEN}{packed}{CLOSE}"


def embedded_in(page: str) -> str:
    """Returns the text in the data block of a page. Raises ValueError where there is none."""
    _, plain, rest = page.partition(_PLAIN_OPEN)
    if plain:
        return rest.partition(CLOSE)[0]
    _, found, rest = page.partition(OPEN)
    if not found:
        raise ValueError("the page carries no record")
    try:
        return zlib.decompress(base64.b64decode(rest.partition(CLOSE)[0], validate=True)).decode()
    except zlib.error as error:
        raise ValueError(f"what the page carries is damaged ({error})") from error
