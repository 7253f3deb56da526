"""The run directory: what was measured, chunk by chunk, so that a run can be resumed.

A chunk is written under a temporary name and then renamed: it is there whole or not at all. The
manifest holds what is locked for the life of a run; a directory with another manifest is refused.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from audit.counts import Counts
from audit.errors import UsageError
from audit.harness.collect import Collected

_TABLES = ("calls", "row_pairs", "call_pairs")


class RunDirectory:
    """Chunks of one audit on disk, locked by the file `name`.json; folder None keeps nothing."""

    def __init__(self, folder: Path | None, locked: Mapping[str, Any], *, name: str) -> None:
        self._folder = folder
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
            self._lock(folder / f"{name}.json", locked)

    @staticmethod
    def _lock(path: Path, locked: Mapping[str, Any]) -> None:
        text = json.dumps(locked, sort_keys=True, indent=1)
        if not path.exists():
            _write_whole(path, text.encode())
            return
        before = json.loads(path.read_text())
        changed = [key for key in locked if before.get(key) != json.loads(text)[key]]
        if changed:
            raise UsageError(
                f"run directory {path.parent}: {changed[0]} was {before.get(changed[0])!r} and is "
                f"now {locked[changed[0]]!r}, but it is locked for the life of a run; give "
                "another --run-dir or the old value."
            )

    def load(self, name: str) -> list[Collected] | None:
        """Returns the chunk of this name, one entry a case, or None where it is not there."""
        if self._folder is None or not (path := self._folder / f"{name}.npz").exists():
            return None
        with np.load(path) as arrays:
            return [_unpacked(arrays, case) for case in range(int(arrays["cases"]))]

    def save(self, name: str, collected: Sequence[Collected]) -> None:
        """Writes the chunk of this name, one entry a case."""
        if self._folder is None:
            return
        arrays: dict[str, Any] = {"cases": np.int64(len(collected))}
        for case, entry in enumerate(collected):
            arrays |= _packed(entry, case)
        with tempfile.NamedTemporaryFile(dir=self._folder, suffix=".tmp", delete=False) as file:
            np.savez_compressed(file, **arrays)
        os.replace(file.name, self._folder / f"{name}.npz")


def _packed(entry: Collected, case: int) -> dict[str, Any]:
    arrays: dict[str, Any] = {f"{case}.bases": np.array(entry.counts.bases)}
    for name in _TABLES:
        arrays[f"{case}.{name}"] = getattr(entry, name)
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
    rest = (arrays[f"{case}.{name}"] for name in _TABLES)
    return Collected(Counts(tables, bases), Counts(first, bases), *rest)


def _write_whole(path: Path, content: bytes) -> None:
    with tempfile.NamedTemporaryFile(dir=path.parent, suffix=".tmp", delete=False) as file:
        file.write(content)
    os.replace(file.name, path)
