"""A user's sampler in a process of its own, whose laws are read there.

Neither a crash nor a hang there harms this process, and what comes back is data: JSON, checked. The
code itself does run beside the search that takes over its random numbers, so that it could disturb
it; the worker of a sampled run keeps the two apart.
"""

from __future__ import annotations

import base64
import json
import pickle
import sys
from pathlib import Path
from typing import Any, NoReturn

from pydantic import TypeAdapter, ValidationError

from audit.case import Case
from audit.errors import SamplerError, UsageError
from audit.laws.terms import Terms
from audit.samplers.command.lines import LineProcess, NoiseError
from audit.samplers.facts import facts_from
from audit.samplers.interface import LoadedSampler
from audit.steered import Found, NotSteered

START_SECONDS = 120.0
FOUND = TypeAdapter(Found)
_ROOT = Path(__file__).resolve().parent.parent.parent
_START = "import sys; sys.path.insert(0, sys.argv[1]); from audit.laws.child import main; main()"


class Apart:
    """A process that has loaded the sampler that `spec` names, `module:object` or `path.py:object`.

    seconds: the longest that reading a case may take.

    Raises: UsageError or SamplerError where the sampler cannot be loaded.
    """

    def __init__(self, spec: str, *, seconds: float) -> None:
        self.spec, self.seconds = spec, seconds
        self._process: LineProcess | None = None
        self.sampler = self._started()

    def read(self, case: Case, terms: Terms) -> Found:
        """Returns the law of the sampler on a case, or why there is none.

        A process that had to be ended is started again.

        Raises: SamplerError where the sampler breaks its contract, or ends the process.
        """
        if self._process is None:
            self._started()
        try:
            answer = self._asked({"case": case, "terms": terms}, self.seconds)
        except TimeoutError:
            self.close()
            return Found(NotSteered(f"no law was found within {self.seconds:g} s"))
        if "error" in answer:
            raise SamplerError(answer["error"], detail=answer["detail"])
        try:
            return FOUND.validate_python(answer["found"])
        except (KeyError, ValidationError):
            raise self._wrote_else() from None

    @property
    def ended(self) -> bool:
        """Whether the process had to be ended, and was not started again."""
        return self._process is None

    def close(self) -> None:
        """Ends the process and all that it started."""
        if self._process is not None:
            self._process.end()
            self._process = None

    def _started(self) -> LoadedSampler:
        self._process = LineProcess([sys.executable, "-P", "-c", _START, str(_ROOT)])
        try:
            about = self._asked({"spec": self.spec}, START_SECONDS)
        except TimeoutError:
            self.close()
            raise SamplerError(f"{self.spec} was not loaded within {START_SECONDS:g} s.") from None
        if "error" in about:
            self.close()
            if about["usage"]:
                raise UsageError(about["error"])
            raise SamplerError(about["error"], detail=about["detail"])
        facts = facts_from(about["facts"], name=self.spec)
        return LoadedSampler(
            self.spec, _not_here, facts, identity=about["identity"], source=about["source"]
        )

    def _asked(self, request: dict[str, Any], seconds: float) -> dict[str, Any]:
        assert self._process is not None
        line = base64.b64encode(pickle.dumps(request)) + b"\n"
        try:
            answer = json.loads(self._process.ask(line, seconds=seconds))
        except EOFError:
            printed = self._process.printed()
            ended, self._process = self._process.end(), None
            sentence = f"{self.spec} ended its process ({ended})."
            raise SamplerError(sentence, detail=printed) from None
        except (NoiseError, ValueError):
            raise self._wrote_else() from None
        if not isinstance(answer, dict):
            raise self._wrote_else()
        return answer

    def _wrote_else(self) -> SamplerError:
        self.close()
        return SamplerError(f"{self.spec} wrote something else than an answer into our pipe.")


def _not_here(batch: Any, generator: Any) -> NoReturn:
    raise SamplerError("this sampler lives in a process of its own and cannot be called here.")
