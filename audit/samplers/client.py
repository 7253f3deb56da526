"""The parent's end of a worker: a user's sampler in another process that looks like any other.

Everything that decides a verdict stays on this side: the worker gets copies of a batch and a
seed, and what comes back is raw rows. A failed worker is never started again.
"""

from __future__ import annotations

import select
import sys
import time
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from audit.errors import DraftproofError, SamplerError, UsageError
from audit.samplers.batch import seed_from, stored_once, tensors
from audit.samplers.interface import Batch
from audit.samplers.process import WorkerProcess, telling
from audit.samplers.worker import wire
from audit.samplers.worker.output import most_accepted
from audit.samplers.worker.stepping import Models

START_SECONDS = 120.0  # importing torch and the user's packages takes none of the sampler's time
_ALIGNMENT = 64
_LONGEST_POLL = 3600.0  # poll() takes no more than an int of milliseconds


class WorkerSampler:
    """A sampler that runs in a worker process; `about` is what the worker said at its start.

    `spec` is `module:object` or `path.py:object`; `timeout` are the seconds for one call.
    Raises: UsageError or SamplerError where the sampler cannot be loaded.
    """

    def __init__(
        self, spec: str, *, device: str, timeout: float, python: str = "", steps: bool = False
    ) -> None:
        self._spec = spec
        self._timeout = timeout
        self._number = 0
        self._process = WorkerProcess(
            python or sys.executable, spec=spec, device=device, steps=steps
        )
        self.about = self._reply(START_SECONDS + timeout)
        if "error" in self.about:
            detail = self.about["detail"] + self._process.printed()
            self.close()
            raise refusal(self.about["error"], usage=self.about["usage"], detail=detail)

    def __call__(self, batch: Batch, generator: torch.Generator) -> Tensor | tuple[Tensor, Tensor]:
        """Returns what the sampler returned, as int64 tensors. Raises SamplerError."""
        end, reply = self._asked(tensors(batch), generator)
        return self._result(batch, end, reply["parts"])

    def again(self, batch: Batch, generator: torch.Generator) -> Tensor | tuple[Tensor, Tensor]:
        """Returns as a call does, with the generator that the worker's last call has left there.

        Nothing is seeded in between; `generator` is not asked. Raises SamplerError.
        """
        end, reply = self._asked(tensors(batch), None)
        return self._result(batch, end, reply["parts"])

    def moved(self, batch: Batch, generator: torch.Generator) -> list[str]:
        """Returns whose global generators a call moves on. Raises SamplerError."""
        _, reply = self._asked(tensors(batch), generator, watched=True)
        found: list[str] = reply["moved"]
        return found

    def step(
        self, models: Models, generator: torch.Generator
    ) -> tuple[Tensor, Tensor | None, Tensor]:
        """Returns the drafts, claimed rows and tokens of a step sampler. Raises SamplerError."""
        return self._round(models, generator, apart=False)

    def step_apart(
        self, models: Models, generator: torch.Generator
    ) -> tuple[Tensor, Tensor | None, Tensor]:
        """Returns the same of a round on the drafts of another proposal. Raises SamplerError."""
        return self._round(models, generator, apart=True)

    def _round(
        self, models: Models, generator: torch.Generator, *, apart: bool
    ) -> tuple[Tensor, Tensor | None, Tensor]:
        end, reply = self._asked(models.tables, generator, apart=apart)
        file, rows, gamma = self._process.file, models.batch_size, models.num_speculative_tokens
        flat = wire.read_tensor(file, torch.int64, [rows * (2 * gamma + 1)], end)
        claimed = None
        if reply["claimed"]:
            shape = [rows, gamma, models.vocab_size]
            claimed = wire.read_tensor(file, torch.float64, shape, end + flat.nbytes)
            claimed = claimed.to(models.device)
        flat, drafts = flat.to(models.device), rows * gamma
        return flat[:drafts].view(rows, gamma), claimed, flat[drafts:].view(rows, gamma + 1)

    def _asked(
        self,
        given: Mapping[str, Tensor],
        generator: torch.Generator | None,
        *,
        apart: bool = False,
        watched: bool = False,
    ) -> tuple[int, dict[str, Any]]:
        """Returns the reply to a request with these tensors, and where its result stands.

        Without a generator the worker goes on with the one that it has. watched: the reply says
        whose global generators the call moves on.
        """
        if not self._process.alive:
            raise SamplerError(f"{self._spec} cannot be called: its worker process has ended.")
        self._number += 1
        fields, end = self._write(given)
        request = {
            "number": self._number,
            "seed": None if generator is None else seed_from(generator),
            "device": str(next(iter(given.values())).device),
            "fields": fields,
            "result": end,
            "apart": apart,
            "watched": watched,
        }
        self._send(request)
        reply = self._reply(self._timeout)
        if "error" in reply:
            detail = reply["detail"] + self._process.printed()
            raise SamplerError(f"{self._spec} {reply['error']}", detail=detail)
        self._process.trim_log()
        return end, reply

    @property
    def ended(self) -> bool:
        """Whether the worker process is gone; it is never started again."""
        return not self._process.alive

    def close(self) -> None:
        """Ends the worker and all that it started."""
        self._process.end()

    def _write(self, given: Mapping[str, Tensor]) -> tuple[list[wire.Stored], int]:
        """Returns where each tensor stands in the file, and the offset behind them."""
        fields, offset = [], 0
        for name, tensor in given.items():
            once = stored_once(tensor).contiguous().cpu()
            dtype = str(tensor.dtype).removeprefix("torch.")
            fields.append(wire.Stored(name, dtype, list(tensor.shape), list(once.shape), offset))
            wire.write_tensor(self._process.file, once, offset)
            offset += -(-once.nbytes // _ALIGNMENT) * _ALIGNMENT
        return fields, offset

    def _result(self, batch: Batch, offset: int, parts: int) -> Tensor | tuple[Tensor, Tensor]:
        rows, gamma = len(batch.draft_token_ids), most_accepted(batch)
        size = rows * (gamma + parts)
        flat = wire.read_tensor(self._process.file, torch.int64, [size], offset)
        flat = flat.to(batch.draft_token_ids.device)
        tokens = flat[: rows * (gamma + 1)].view(rows, gamma + 1)
        return tokens if parts == 1 else (tokens, flat[rows * (gamma + 1) :])

    def _send(self, request: dict[str, Any]) -> None:
        try:
            wire.send(self._process.requests, request)
        except BrokenPipeError:
            raise self._died() from None

    def _reply(self, seconds: float) -> dict[str, Any]:
        """Returns the reply to the last request. Raises SamplerError where none comes in time."""
        deadline = time.monotonic() + seconds
        try:
            reply = wire.receive(self._process.replies, lambda: self._wait(deadline))
        except TimeoutError:
            raise self._stopped(f"did not answer within {seconds:g} s") from None
        except EOFError:
            raise self._died() from None
        except ValueError:
            raise self._stopped("wrote something else than a reply into our pipe") from None
        if reply.get("number") != self._number:
            raise self._stopped("sent a reply to another call")
        return reply

    def _wait(self, deadline: float) -> None:
        poll = select.poll()
        poll.register(self._process.replies, select.POLLIN)
        left = max(0.0, deadline - time.monotonic())
        while not poll.poll(1000 * min(left, _LONGEST_POLL)):
            left = max(0.0, deadline - time.monotonic())
            if not left:
                raise TimeoutError

    def _died(self) -> SamplerError:
        printed = self._process.printed()
        last = telling(printed) if self._number == 0 else []
        ended = ": ".join([self._process.end(), *last])
        said = f"{self._spec} ended its worker process {self._when()} ({ended})."
        return SamplerError(said, detail=printed)

    def _stopped(self, did: str) -> SamplerError:
        printed = self._process.printed()
        self._process.end()
        said = f"{self._spec} {did} {self._when()} and was stopped."
        return SamplerError(said, detail=printed)

    def _when(self) -> str:
        return f"in call {self._number}" if self._number else "while it was loaded"


def refusal(sentence: str, *, usage: bool, detail: str) -> DraftproofError:
    """Returns the error for a sampler that could not be loaded."""
    return UsageError(sentence) if usage else SamplerError(sentence, detail=detail)
