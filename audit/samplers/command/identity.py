"""What identifies a command: the program, the files among its arguments, and all its words.

What a program reads by itself (modules that a script imports, a configuration file) is not seen.
"""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from audit.errors import UsageError
from audit.samplers.identity import code_of_files


def words_of(command: str) -> list[str]:
    """Returns the words of a command, quoted as in a shell.

    Raises: UsageError for an open quote, no word, or a program that is not found.

    >>> words_of("python3 'my file.py' --fast")
    ['python3', 'my file.py', '--fast']
    """
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise UsageError(f"the command {command!r} cannot be split: {error}.") from None
    if not words:
        raise UsageError("process: names no program; write process:COMMAND, as process:./verify.")
    if shutil.which(words[0]) is None:
        raise UsageError(
            f"process: no program {words[0]!r} is found; name a file that may be executed, or a "
            "program on the PATH."
        )
    return words


def files_of(words: Sequence[str]) -> Mapping[str, Path]:
    """Returns the program's file and those of its arguments that are files, by their words."""
    program = {words[0]: Path(shutil.which(words[0]) or words[0])}
    return program | {word: Path(word) for word in words[1:] if Path(word).is_file()}


def code_of_command(words: Sequence[str]) -> Mapping[str, str]:
    """Returns the SHA-256 of a command's files as `sha256`, and what it is over as `hashed`.

    Where a folder is among its arguments, or a file cannot be read, there is no hash and `hashed`
    starts with "nothing".
    """
    folder = next((word for word in words[1:] if Path(word).is_dir()), None)
    if folder is not None:
        return {"hashed": f"nothing, for its argument {folder!r} is a folder"}
    try:
        return code_of_files(files_of(words))
    except OSError as error:
        return {"hashed": f"nothing, for {error.filename} cannot be read"}
