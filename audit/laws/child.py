"""The process in which the laws of a user's sampler are read: a line asks, a line answers.

The first question names the sampler, every other one a case. What the sampler prints goes to the
error output. The process ends when its input does, whatever it is busy with.
"""

from __future__ import annotations

import base64
import json
import os
import pickle
import signal
import threading
import traceback
from collections.abc import Callable
from dataclasses import asdict
from queue import SimpleQueue
from typing import IO, Any

import torch

from audit.errors import SamplerError, UsageError
from audit.laws.reading import read_case
from audit.samplers.registry import load_sampler
from audit.samplers.worker.loading import named

APART = "a process of its own, beside the search"
Answer = dict[str, Any]


def main() -> None:
    """Answers until there are no more questions."""
    torch.set_num_threads(1)
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    asked = os.fdopen(os.dup(0), "rb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)  # a sampler that reads its input finds none
    questions: SimpleQueue[bytes] = SimpleQueue()
    threading.Thread(target=_listen, args=(asked, questions), daemon=True).start()
    answer = Answering()
    while True:
        given = answer(pickle.loads(base64.b64decode(questions.get())))
        answers.write(json.dumps(given, allow_nan=False) + "\n")
        answers.flush()


def _listen(asked: IO[bytes], questions: SimpleQueue[bytes]) -> None:
    """Passes questions on, and ends this process and all that it started with the last of them."""
    for line in asked:
        questions.put(line)
    os.killpg(0, signal.SIGKILL)


class Answering:
    """Answers questions about the sampler that the first of them names."""

    def __init__(self) -> None:
        self._answer: Callable[..., Answer] = self._load
        self._spec = ""

    def __call__(self, question: dict[str, Any]) -> Answer:
        """Returns the answer, or what went wrong."""
        try:
            return self._answer(**question)
        except UsageError as error:
            return {"error": str(error), "usage": True, "detail": ""}
        except SamplerError as error:
            return {"error": str(error), "usage": False, "detail": error.detail}
        except Exception:
            raise
        except BaseException as error:  # no terminal interrupts this process: it is the sampler's
            sentence = f"{self._spec} raised {named(error)}."
            return {"error": sentence, "usage": False, "detail": traceback.format_exc()}

    def _load(self, spec: str) -> Answer:
        self._spec = spec
        sampler = load_sampler(spec, in_process=True)

        def read(case: Any, terms: Any) -> Answer:
            return {"found": asdict(read_case(sampler, case, terms))}

        self._answer = read
        return {
            "facts": asdict(sampler.facts),
            "identity": {**sampler.identity, "runs in": APART},
            "source": sampler.source,
        }
