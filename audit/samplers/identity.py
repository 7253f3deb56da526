"""What identifies a sampler's code: a hash that a record keeps and that a resumed run must meet.

A user's file is hashed with every module that it loaded from its own folder or below. A module is
hashed with every Python and compiled module of its distribution, or of its top-level package where
no distribution lists it (a checkout, an editable installation), and with what it loaded from the
folder beside that. Neither sees data files, modules that are first imported during a call, or
modules from elsewhere (installed packages, the standard library). Objects of this process are in
`audit.samplers.identity_of_object`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path

from audit.samplers.worker.loading import root_of

_CODE = {".py", ".so", ".pyd", ".dylib"}


def code_of_files(files: Mapping[str, Path]) -> Mapping[str, str]:
    """Returns the SHA-256 of files under these names as `sha256`, and the names as `hashed`.

    One file gives the hash that every other tool gives for it.
    """
    names = ", ".join(sorted(files))
    if len(files) == 1:
        (path,) = files.values()
        return {"sha256": hashlib.sha256(path.read_bytes()).hexdigest(), "hashed": names}
    return {"sha256": _digest(files), "hashed": names}


def code_of_module(
    name: str, file: Path, loaded: Mapping[str, Path] | None = None
) -> Mapping[str, str]:
    """Returns the SHA-256 of all code that was installed with a module, and what it is over.

    `file` is the module's own file; the folder that holds its top-level package follows from it.
    `loaded` is more code, by its path in that folder.
    """
    root = root_of(name, file.resolve())
    own, what = _installed_with(name, file.resolve(), root)
    beside = {path: at for path, at in (loaded or {}).items() if path not in own}
    said = f"{len(own)} modules of {what}"
    if beside:
        said += f" and {', '.join(sorted(beside))}"
    return {"sha256": _digest({**own, **beside}), "hashed": said}


def _installed_with(name: str, file: Path, root: Path) -> tuple[dict[str, Path], str]:
    """Returns the code of a module's distribution, else of its package, and what that is called."""
    for distribution in metadata.distributions(path=[str(root)]):
        files = _code({str(entry): root / str(entry) for entry in distribution.files or ()})
        if file in files.values():
            return files, f"{distribution.name} {distribution.version}"
    package = root / name.partition(".")[0]
    own = package.rglob("*") if package.is_dir() else [file]
    return _code({path.relative_to(root).as_posix(): path for path in own}), package.name


def _code(files: Mapping[str, Path]) -> dict[str, Path]:
    return {name: path for name, path in files.items() if path.suffix in _CODE and path.is_file()}


def _digest(files: Mapping[str, Path]) -> str:
    """Returns the SHA-256 over names and contents, in the order of the names."""
    digest = hashlib.sha256()
    for name, path in sorted(files.items()):
        digest.update(f"{name}\n".encode())
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()
