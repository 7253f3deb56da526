"""Writing a file completely or not at all.

The content goes to a temporary neighbour that is renamed over the file: a reader, a killed process
or a full disk never leaves half a file behind.
"""

from __future__ import annotations

import errno
import os
from pathlib import Path

from audit.errors import UsageError


def write_atomically(path: Path, content: str | bytes) -> None:
    """Writes bytes, or text as UTF-8. Raises UsageError where the file cannot be written."""
    data = content.encode() if isinstance(content, str) else content
    try:
        if path.exists() and not path.is_file():  # a pipe or /dev/stdout has no neighbour
            path.write_bytes(data)
        else:
            _replace(path.resolve(), data)
    except OSError as error:
        raise _not_writable(path, error) from error


def check_writable(path: Path) -> None:
    """Returns nothing if `path` can be written. Raises UsageError otherwise.

    It is asked before sampling, so that an audit is not lost to a misspelt folder.
    """
    try:
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if not path.exists() or path.is_file():
            temporary = _temporary(path.resolve())
            temporary.touch()
            temporary.unlink()
    except OSError as error:
        raise _not_writable(path, error) from error


def _replace(path: Path, data: bytes) -> None:
    temporary = _temporary(path)
    try:
        temporary.write_bytes(data)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def _temporary(path: Path) -> Path:
    return path.with_name(f".{path.name}.{os.getpid()}.tmp")


def _not_writable(path: Path, error: OSError) -> UsageError:
    reason = error.strerror or str(error)
    return UsageError(f"{path} cannot be written: {reason.lower()}; choose another path.")
