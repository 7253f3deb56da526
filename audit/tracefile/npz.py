"""Arrays of an .npz archive as streams: nothing is unpacked before its turn, nothing unpickled."""

from __future__ import annotations

import zipfile
from contextlib import ExitStack
from pathlib import Path
from typing import IO

import numpy as np
from numpy.lib import format as npy

from audit.tracefile.columns import Column
from audit.tracefile.problems import BadRecord
from audit.tracefile.rounds import check_names

_HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}


def columns(path: str, wanted: tuple[str, ...], stack: ExitStack) -> dict[str, Column]:
    """Returns the wanted arrays of an archive, in its order; the stack closes it.

    Raises: BadRecord for an archive or array that cannot be streamed.
    """
    try:
        archive = stack.enter_context(zipfile.ZipFile(path))
    except zipfile.BadZipFile as error:
        raise BadRecord("file", path, f"is no whole .npz archive: {error}") from None
    check_names(Path(name).stem for name in archive.namelist())
    names = [name for name in archive.namelist() if Path(name).stem in wanted]
    return {
        Path(name).stem: _column(name, stack.enter_context(archive.open(name))) for name in names
    }


def _column(name: str, stream: IO[bytes]) -> Column:
    try:
        header = _HEADERS[npy.read_magic(stream)]
        shape, fortran, dtype = header(stream)
    except (ValueError, KeyError, zipfile.BadZipFile) as error:
        raise BadRecord(name, str(error), "is the reason why its header cannot be read") from None
    if dtype.kind not in "fiubU":
        raise BadRecord(name, str(dtype), "is no type of numbers or text")
    if fortran and len(shape) > 1:
        raise BadRecord(name, shape, "stands column by column: save np.ascontiguousarray of it")
    return Column(Path(name).stem, dtype, shape, stream, half=dtype == np.float16)
