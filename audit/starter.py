"""The files that a user starts from: a configuration and a sampler, both of them examples."""

from __future__ import annotations

from pathlib import Path

from audit.casefile.reading import shown_path
from audit.errors import UsageError
from audit.files import write_atomically
from audit.resources import examples_dir

STARTER_FILES = ("draftproof.toml", "my_sampler.py")


def write_starter(folder: Path, *, force: bool = False) -> list[Path]:
    """Returns the files written into `folder`, which is made if need be.

    Raises: UsageError where one is there already and `force` is not set, or cannot be written.
    """
    there = [name for name in STARTER_FILES if (folder / name).exists()]
    if there and not force:
        raise UsageError(
            f"{shown_path(folder / there[0])} is there already; overwrite it with --force, or name "
            "another folder."
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise UsageError(f"{shown_path(folder)}: {reason}; name another folder.") from error
    for name in STARTER_FILES:
        write_atomically(folder / name, (examples_dir() / name).read_bytes())
    return [folder / name for name in STARTER_FILES]
