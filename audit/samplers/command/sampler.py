"""A program as a sampler: it looks like any other, and what it does wrong has its sentence."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeVar

import torch

from audit.errors import SamplerError
from audit.repository import path_in_repository
from audit.samplers.batch import seed_from
from audit.samplers.command.answers import Answer, BadAnswerError, hello_of, rows_of, shown
from audit.samplers.command.identity import code_of_command, files_of, words_of
from audit.samplers.command.lines import LineProcess, NoiseError
from audit.samplers.command.requests import SEEDS, Requests, cut, hello_line
from audit.samplers.interface import LoadedSampler, StepBatch
from audit.samplers.process import telling

START_SECONDS = 120.0  # what a program needs to start takes none of the sampler's time

T = TypeVar("T")


class CommandSampler:
    """A program that answers the requests of docs/process.md; `hello` is what it said of itself.

    timeout: seconds for one call; `number` is that of the last one. A program that has ended or
    lost count is never asked again.

    Raises: UsageError where the command cannot be started; SamplerError where the program does not
    answer as it must.
    """

    def __init__(self, command: str, *, timeout: float) -> None:
        self.name = f"process:{command}"
        self.words = words_of(command)
        self._timeout = timeout
        self.number = 0
        self.requests = Requests()
        self.process = LineProcess(self.words)
        try:
            read = partial(hello_of, name=self.name)
            self.hello = self._asked(hello_line(), read, seconds=START_SECONDS + timeout)
        except BaseException:
            self.close()
            raise

    def __call__(self, batch: StepBatch, generator: torch.Generator) -> Answer:
        """Returns the rows that the program answered, int64. Raises SamplerError."""
        answer = self.verified(batch, self._random(batch, generator))
        device = batch.draft_token_ids.device
        if isinstance(answer, tuple):
            return answer[0].to(device), answer[1].to(device)
        return answer.to(device)

    def verified(self, batch: StepBatch, random: Mapping[str, Any]) -> Answer:
        """Returns the rows that the program answers, on the CPU; `random` is its seed or coins.

        Raises: SamplerError.
        """
        if self.ended:
            raise SamplerError(f"{self.name} cannot be called: its program has ended.")
        self.number += 1
        count, width = batch.target_probs.shape[:2]
        read = partial(rows_of, number=self.number, count=count, width=width)
        with _no_collection():
            line = self.requests.line(batch, self.number, random)
            answer = self._asked(line, read, seconds=self._timeout)
        self.process.trim_log()
        return answer

    @property
    def ended(self) -> bool:
        """Whether the program is gone; it is never started again."""
        return not self.process.alive

    def close(self) -> None:
        """Ends the program and all that it started."""
        self.process.end()

    def _random(self, batch: StepBatch, generator: torch.Generator) -> Mapping[str, Any]:
        """Returns the seed or the coins of a call: one a drafted token, one for the last draw."""
        if not self.hello.coins:
            return {"seed": seed_from(generator) % SEEDS}
        size = batch.target_probs.shape[:2]
        coins = torch.rand(size, dtype=torch.float64, generator=generator, device=generator.device)
        return {"coins": cut(coins, [n + 1 for n in batch.num_draft_tokens.tolist()])}

    def _asked(self, line: bytes, read: Callable[[bytes], T], *, seconds: float) -> T:
        """Returns what the program answers to a line, read. Raises SamplerError."""
        try:
            return read(self.process.ask(line, seconds=seconds))
        except BadAnswerError as error:
            raise self._wrong(str(error), stop=error.lost) from None
        except TimeoutError:
            said = f"did not answer within {seconds:g} s {self._when()} (a line must be flushed)"
            raise self._wrong(said, stop=True) from None
        except NoiseError as noise:
            said = f"wrote {shown(noise.text)} {self._when()}, besides its one line of answer"
            raise self._wrong(said, stop=True) from None
        except EOFError:
            raise self._died() from None

    def _died(self) -> SamplerError:
        printed = self.process.printed()
        ended = ": ".join([self.process.end(), *telling(printed)])
        return SamplerError(f"{self.name} ended {self._when()} ({ended}).", detail=printed)

    def _wrong(self, did: str, *, stop: bool) -> SamplerError:
        printed = self.process.printed()
        if stop:
            self.close()
            did += ", and it was stopped"
        end = "" if did.endswith("?") else "."
        return SamplerError(f"{self.name} {did}{end}", detail=printed)

    def _when(self) -> str:
        return f"in call {self.number}" if self.number else "at the hello"


@contextmanager
def _no_collection() -> Iterator[None]:
    """Pauses the garbage collector: the lists of a call would set it off over and over."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def load_command(command: str, *, timeout: float) -> LoadedSampler:
    """Returns the sampler `process:COMMAND`; its words are part of its name.

    Raises: UsageError where the command cannot be started; SamplerError where the program does not
    answer as it must.
    """
    sampler = CommandSampler(command, timeout=timeout)
    said = {"program": sampler.hello.name} if sampler.hello.name else {}
    identity = {"spec": sampler.name, "runs in": "a program of its own", **said}
    places = map(path_in_repository, files_of(sampler.words).values())
    return LoadedSampler(
        name=sampler.name,
        call=sampler,
        facts=sampler.hello.facts,
        identity={**identity, **code_of_command(sampler.words)},
        source=next((f"{place}:1" for place in places if place), ""),
    )
