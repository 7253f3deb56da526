"""What identifies a sampler's code: a hash that a record keeps and that a resumed run must meet.

A user's file is hashed as it stands. A module is hashed with every Python and compiled module of
its distribution, or of its top-level package where no distribution lists it (a checkout, an
editable installation). Data files are not hashed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path

_CODE = {".py", ".so", ".pyd", ".dylib"}


def code_of_files(*paths: Path) -> Mapping[str, str]:
    """Returns the SHA-256 of these files, as `sha256`, and their names, as `hashed`.

    One file gives the hash that every other tool gives for it.
    """
    names = ", ".join(path.name for path in paths)
    if len(paths) == 1:
        return {"sha256": hashlib.sha256(paths[0].read_bytes()).hexdigest(), "hashed": names}
    return {"sha256": _digest({path.name: path for path in paths}), "hashed": names}


def code_of_module(name: str, file: Path) -> Mapping[str, str]:
    """Returns the SHA-256 of all code that was installed with a module, and what it is over.

    `file` is the module's own file; the folder that holds its top-level package follows from it.
    """
    file = file.resolve()
    root = file.parents[name.count(".") + (file.stem == "__init__")]
    for distribution in metadata.distributions(path=[str(root)]):
        files = _code({str(entry): root / str(entry) for entry in distribution.files or ()})
        if file in files.values():
            what = f"{len(files)} modules of {distribution.name} {distribution.version}"
            return {"sha256": _digest(files), "hashed": what}
    package = root / name.partition(".")[0]
    own = package.rglob("*") if package.is_dir() else [file]
    files = _code({path.relative_to(root).as_posix(): path for path in own})
    return {"sha256": _digest(files), "hashed": f"{len(files)} modules of {package.name}"}


def _code(files: Mapping[str, Path]) -> dict[str, Path]:
    return {name: path for name, path in files.items() if path.suffix in _CODE and path.is_file()}


def _digest(files: Mapping[str, Path]) -> str:
    """Returns the SHA-256 over names and contents, in the order of the names."""
    digest = hashlib.sha256()
    for name, path in sorted(files.items()):
        digest.update(f"{name}\n".encode())
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()
