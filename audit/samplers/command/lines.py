"""A program that is asked in lines and answers in lines, on its standard input and output."""

from __future__ import annotations

import os
import select
import subprocess
import time
from collections.abc import Sequence

from audit.samplers.process import ChildProcess

_LONGEST_LINE = 1 << 28
_LONGEST_POLL = 3600.0  # poll() takes no more than an int of milliseconds
_PIECE = 1 << 20


class NoiseError(Exception):
    """Raised where a program wrote something that is no answer, or more; `text` is what."""

    def __init__(self, text: bytes) -> None:
        super().__init__()
        self.text = text


class LineProcess(ChildProcess):
    """A started program.

    Raises: UsageError where it cannot be started.
    """

    def __init__(self, command: Sequence[str]) -> None:
        (theirs_in, self._in), (self._out, theirs_out) = os.pipe(), os.pipe()
        theirs, ours = [theirs_in, theirs_out], [self._in, self._out]
        super().__init__(command, theirs=theirs, ours=ours, stdin=theirs_in, stdout=theirs_out)
        for descriptor in ours:
            os.set_blocking(descriptor, False)

    def ask(self, line: bytes, *, seconds: float) -> bytes:
        """Returns the line with which the program answers `line`, without its end.

        It reads while it writes: neither side waits for ever on a full pipe.

        Raises: TimeoutError; EOFError where the program has ended, or closed its pipes;
        NoiseError where it had written before it was asked, or writes more than a line.
        """
        deadline = time.monotonic() + seconds
        to_send, answer = memoryview(line), self.unasked()
        if answer:
            raise NoiseError(answer)
        while to_send or not answer.endswith(b"\n"):
            writable, readable = self._ready(deadline, writing=bool(to_send))
            if writable:
                to_send = to_send[self._write(to_send) :]
            if readable:
                answer += self._read()
            if answer.count(b"\n", 0, len(answer) - 1) or len(answer) > _LONGEST_LINE:
                raise NoiseError(answer.partition(b"\n")[2])
        return answer[:-1]

    def finish(self, *, seconds: float) -> int | None:
        """Closes the program's input and returns its exit code, None where it does not end."""
        with open(os.devnull, "wb") as nowhere:
            os.dup2(nowhere.fileno(), self._in)
        try:
            return self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None

    def unasked(self) -> bytes:
        """Returns what the program has written without being asked."""
        try:
            return os.read(self._out, _PIECE)
        except BlockingIOError:
            return b""

    def _ready(self, deadline: float, *, writing: bool) -> tuple[bool, bool]:
        """Returns whether the program takes more, and whether it has written more."""
        poll = select.poll()
        poll.register(self._out, select.POLLIN)
        if writing:
            poll.register(self._in, select.POLLOUT)
        while True:
            left = max(0.0, deadline - time.monotonic())
            found = {descriptor for descriptor, _ in poll.poll(1000 * min(left, _LONGEST_POLL))}
            if found:
                return self._in in found, self._out in found
            if not left:
                raise TimeoutError

    def _write(self, data: memoryview) -> int:
        try:
            return os.write(self._in, data[:_PIECE])
        except BrokenPipeError:
            raise EOFError from None
        except BlockingIOError:
            return 0

    def _read(self) -> bytes:
        piece = os.read(self._out, _PIECE)
        if not piece:
            raise EOFError
        return piece
