"""The run directory: what was measured, chunk by chunk, so that a run can be resumed.

A chunk is there whole or not at all. The manifest holds what is locked for the life of a run; a
directory with another manifest is refused, and so is a damaged file: nothing is guessed.
"""

from __future__ import annotations

import hashlib
import io
import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn
from zipfile import BadZipFile

import numpy as np

from audit.counts import Counts
from audit.errors import UsageError
from audit.files import write_atomically
from audit.harness.collect import Collected
from audit.harness.togetherness import Together
from audit.versions import change, code_changes


class RunDirectory:
    """Chunks of one audit on disk, locked by the file `name`.json; folder None keeps nothing."""

    def __init__(self, folder: Path | None, locked: Mapping[str, Any], *, name: str) -> None:
        self._folder = folder
        self._manifest = json.dumps(locked, sort_keys=True, indent=1)
        if folder is None:
            return
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise UsageError(f"run directory {folder}: {reason}; name another folder.") from error
        self._lock(folder / f"{name}.json")

    @property
    def keeps(self) -> bool:
        """Whether there is a folder."""
        return self._folder is not None

    @property
    def holds(self) -> bool:
        """Whether there are chunks in it, of the audit or of its control."""
        return self._folder is not None and any(self._folder.glob("*.npz"))

    def _lock(self, path: Path) -> None:
        if not path.exists():
            write_atomically(path, self._manifest)
            return
        locked = json.loads(self._manifest)
        with _undamaged(path):
            before = dict(json.loads(path.read_text(), parse_constant=_refused))
        changes = [told for key in {**before, **locked} for told in _changes(key, before, locked)]
        if changes:
            raise UsageError(
                f"run directory {path.parent}: {', '.join(changes)}, but this is locked for the "
                "life of a run; give another --run-dir, or go back to what it was."
            )

    def _path(self, folder: Path, name: str) -> Path:
        """Returns the file of a chunk; its name carries the manifest that it was made under."""
        return folder / f"{name}-{hashlib.sha256(self._manifest.encode()).hexdigest()[:16]}.npz"

    def load(self, name: str) -> list[Collected] | None:
        """Returns the chunk of this name, one entry a case, or None where it is not there."""
        if self._folder is None or not (path := self._path(self._folder, name)).exists():
            return None
        with _undamaged(path), np.load(io.BytesIO(path.read_bytes())) as arrays:
            if str(arrays.get("name", name)) != name:
                raise ValueError("a copy of another chunk, which would count twice")
            return [_unpacked(arrays, case) for case in range(int(arrays["cases"]))]

    def save(self, name: str, collected: Sequence[Collected]) -> None:
        """Writes the chunk of this name, one entry a case."""
        if self._folder is None:
            return
        arrays: dict[str, Any] = {"name": np.array(name), "cases": np.int64(len(collected))}
        for case, entry in enumerate(collected):
            arrays |= _packed(entry, case)
        content = io.BytesIO()
        np.savez_compressed(content, **arrays)
        write_atomically(self._path(self._folder, name), content.getvalue())


def _refused(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no number")


def _changes(key: str, before: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    """Yields in words what is no longer as it was under a key of the manifest."""
    was, value = before.get(key), now.get(key)
    if not (isinstance(was, dict) and isinstance(value, dict)):
        yield from [change(key, was, value)] if was != value else []
    elif key == "cases":
        yield from (f"case {name} was left out" for name in was if name not in value)
        yield from (f"case {name} was added" for name in value if name not in was)
        both = (name for name in was if name in value)
        yield from (f"case {name} is another one" for name in both if was[name] != value[name])
    else:
        yield from code_changes(was, value)


@contextmanager
def _undamaged(path: Path) -> Iterator[None]:
    """Turns whatever a damaged or unreadable file raises into one sentence."""
    try:
        yield
    except (
        OSError,
        ValueError,
        KeyError,
        TypeError,
        EOFError,
        BadZipFile,
        zlib.error,
        RecursionError,
    ) as error:
        raise UsageError(
            f"{path} is damaged or unreadable ({type(error).__name__}); delete it, and its part of "
            "the run is made again."
        ) from error


def _packed(entry: Collected, case: int) -> dict[str, Any]:
    arrays: dict[str, Any] = {f"{case}.bases": np.array(entry.counts.bases)}
    arrays[f"{case}.sizes"] = np.int64(len(entry.together))
    for size, together in enumerate(entry.together):
        arrays |= {f"{case}.{name}.{size}": table for name, table in together._asdict().items()}
    for view, (table, first) in enumerate(
        zip(entry.counts.tables, entry.first_rows.tables, strict=True)
    ):
        arrays[f"{case}.all.{view}"], arrays[f"{case}.first.{view}"] = table, first
    return arrays


def _unpacked(arrays: Mapping[str, Any], case: int) -> Collected:
    bases = tuple(arrays[f"{case}.bases"].tolist())
    tables, first = (
        tuple(arrays[f"{case}.{kind}.{view}"] for view in range(len(bases)))
        for kind in ("all", "first")
    )
    together = tuple(
        Together(*(arrays[f"{case}.{name}.{size}"] for name in Together._fields))
        for size in range(int(arrays[f"{case}.sizes"]))
    )
    return Collected(Counts(tables, bases), Counts(first, bases), together)
