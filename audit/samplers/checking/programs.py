"""The rules of the protocol of docs/process.md, asked of a program.

Draft and target are certain of the same tokens wherever rows must be told apart: whatever rule a
program follows, it can emit nothing else.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import cast

import torch

from audit.errors import SamplerError
from audit.samplers.checking.apart import Apart, mixed_up
from audit.samplers.checking.report import Finding
from audit.samplers.command.answers import MAX_BATCH, shown
from audit.samplers.command.requests import Requests
from audit.samplers.command.sampler import CommandSampler
from audit.samplers.contract import check_output
from audit.samplers.interface import Batch, StepBatch
from audit.tree import Tree

END_SECONDS = 5.0
_QUIET_SECONDS = 0.1
_LARGE = 100_000  # ids: a row of them fills every pipe

Rule = Callable[[CommandSampler], str]  # returns what is wrong, "" where nothing is


def protocol_findings(command: str, *, timeout: float) -> tuple[Finding, ...]:
    """Returns what comes of each rule of the protocol, asked of a program of their own.

    Raises: UsageError where the command cannot be started.
    """
    try:
        program = CommandSampler(command, timeout=timeout)
    except SamplerError as error:
        said = str(error).removeprefix(f"process:{command} ").rstrip(".")
        return (Finding("answers the hello", "broken", said),)
    try:
        return (Finding("answers the hello", "kept"), *_asked(program))
    finally:
        program.close()


def _asked(program: CommandSampler) -> Iterator[Finding]:
    rules: dict[str, Rule] = {
        "answers with the number of the call": _numbers,
        "keeps the rows that it was sent": _kept_rows,
        "forgets rows when it is told to": _forgotten_rows,
        "takes another vocabulary": partial(_apart, gamma=3),
        "ignores keys that it does not know": partial(_apart, later_version=[0]),
        "takes long lines": _long_lines,
        "writes nothing unasked": _quiet,
        "ends with its input": _end,
    }
    for rule, ask in rules.items():
        if program.ended:
            yield Finding(rule, "skipped", "it has ended")
            continue
        try:
            said = ask(program)
        except SamplerError as error:
            said = str(error).removeprefix(f"{program.name} ").rstrip(".")
        yield Finding(rule, "broken" if said else "kept", said)


def _apart(program: CommandSampler, gamma: int = 2, call: int = 0, **more: object) -> str:
    """Returns what is wrong with a row that can emit nothing but its own tokens."""
    world = Apart(1, Tree.chain(gamma), chain=True, device=torch.device("cpu"), lengths=(gamma,))
    tokens = _verified(program, world.batch(call), **more)
    return mixed_up(world.mistakes(tokens, call), rows=1)


def _verified(program: CommandSampler, batch: Batch, **more: object) -> torch.Tensor:
    """Returns the rows of a call that keeps the contract. Raises SamplerError."""
    given = cast(StepBatch, batch)  # a program takes no trees
    coins = torch.full(given.target_probs.shape[:2], 0.5).tolist()
    random = {"coins": coins} if program.hello.coins else {"seed": 1}
    return check_output(batch, program.verified(given, {**random, **more}))


def _numbers(program: CommandSampler) -> str:
    said = ""
    for number in (1, 7, 10**9):
        program.number = number - 1
        said = said or _apart(program)
    return said


def _kept_rows(program: CommandSampler) -> str:
    """The same rows twice: the second time they are called by their numbers alone."""
    return _apart(program, call=1) or _apart(program, call=1)


def _forgotten_rows(program: CommandSampler) -> str:
    """All rows are sent again, under the numbers of others."""
    program.requests = Requests()
    return _apart(program, call=1)


def _long_lines(program: CommandSampler) -> str:
    row = torch.zeros(_LARGE)
    row[-1] = 1.0
    rows = program.hello.facts.max_batch or MAX_BATCH
    drafted, lengths = torch.full((rows, 2), _LARGE - 1), torch.full((rows,), 2)
    draft, target = row.expand(rows, 2, -1), row.expand(rows, 3, -1)
    _verified(program, StepBatch(drafted, draft, target, lengths))
    return ""


def _quiet(program: CommandSampler) -> str:
    time.sleep(_QUIET_SECONDS)
    written = program.process.unasked()
    return f"it wrote {shown(written)} after its last answer" if written else ""


def _end(program: CommandSampler) -> str:
    code = program.process.finish(seconds=END_SECONDS)
    if code is None:
        return f"it still runs {END_SECONDS:g} s after the end of its input"
    return f"it ended with exit code {code}" if code else ""
