"""Where a file stands in the user's repository, as reports on a code host name it."""

from __future__ import annotations

from pathlib import Path

_INSTALLED = {"site-packages", "dist-packages"}


def path_in_repository(file: str | Path) -> str:
    """Returns the path with slashes, relative to the repository around the current folder.

    Without a repository the current folder counts. "" where the file lies outside, or was
    installed into it (a virtual environment): then no reviewer would find it.
    """
    here = Path.cwd()
    root = next((folder for folder in (here, *here.parents) if (folder / ".git").exists()), here)
    path = Path(file).resolve()
    if not path.is_relative_to(root) or _INSTALLED & set(path.parts):
        return ""
    return path.relative_to(root).as_posix()
