"""A state audit in a process of its own, for decoders that may hang, crash or call exit().

The whole audit runs there, since a decoder is handed models. It announces every call of the
decoder, so that a limit holds for one call and not for our own arithmetic. What the decoder prints
goes to stderr. The process leads a group of its own, which ends with it and with this process.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from multiprocessing import get_context, parent_process
from multiprocessing.connection import Connection
from typing import Any

from audit.case import Case
from audit.errors import SamplerError
from audit.samplers.decoders.interface import LoadedDecoder
from audit.samplers.process import kill_group
from audit.state.auditing import audit_state
from audit.state.record import StateRecord, to_json

START_SECONDS = 120.0  # importing torch and the decoder's packages
_STDOUT, _STDERR = 1, 2


def audit_named(
    decoder: str,
    cases: Sequence[str | Case] | None = None,
    *,
    timeout: float,
    progress: Callable[[str], None] = lambda _: None,
    **more: Any,
) -> StateRecord:
    """Returns the record of a state audit as `audit_state` does, whose arguments `more` are.

    timeout: seconds for one call of a decoder that is not ours; 0 for none, in this process.

    Raises: as `audit_state`, and SamplerError where the time is over or the process ends.
    """
    if not timeout or ":" not in decoder or decoder.startswith("fault:"):
        return audit_state(decoder, cases, progress=progress, **more)
    context = get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_serve, args=(theirs, decoder, cases, more))
    process.start()
    theirs.close()
    try:
        return _followed(ours, decoder, timeout, progress)
    finally:
        if process.pid is not None:
            kill_group(process.pid)
        process.kill()  # where it was too young to lead a group
        process.join()


def _followed(
    pipe: Connection, decoder: str, timeout: float, progress: Callable[[str], None]
) -> StateRecord:
    """Returns the record at the end of what the process tells."""
    limit: float | None = START_SECONDS + timeout
    while True:
        if not pipe.poll(limit):
            raise SamplerError(
                f"{decoder} did not return from a call within {timeout:g} s; raise --timeout if it "
                "is only slow."
            )
        try:
            kind, content = pipe.recv()
        except EOFError:
            raise SamplerError(f"{decoder} ended its process in the middle of a call.") from None
        limit = timeout if kind == "calling" else None
        if kind == "record":
            return StateRecord.model_validate_json(content)
        if kind == "raised":
            raise content
        if kind == "world":
            progress(content)


def _serve(
    pipe: Connection, decoder: str, cases: Sequence[str | Case] | None, more: dict[str, Any]
) -> None:
    """Runs the audit and tells its course: calls, worlds, and the record or what was raised."""
    os.setsid()
    threading.Thread(target=_end_with_parent, daemon=True).start()
    os.dup2(_STDERR, _STDOUT)

    def announced(loaded: LoadedDecoder) -> LoadedDecoder:
        def call(*models: Any, **arguments: Any) -> Any:
            pipe.send(("calling", ""))
            try:
                return loaded.call(*models, **arguments)
            finally:
                pipe.send(("returned", ""))

        pipe.send(("returned", ""))
        return replace(loaded, call=call)

    try:
        record = audit_state(
            decoder,
            cases,
            progress=lambda world: pipe.send(("world", world)),
            around=announced,
            **more,
        )
    except Exception as error:
        pipe.send(("raised", error))
    else:
        pipe.send(("record", to_json(record)))


def _end_with_parent() -> None:
    """Waits for the parent's end and then kills this process and all that it started."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        kill_group(os.getpid())
