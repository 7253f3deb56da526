"""The audit of one sampler, from a selection of cases to a record; the public Python API.

Nothing is printed here and no click is known here.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import torch

from audit.attempts import attempts_in, note, with_attempts
from audit.case import Case
from audit.fitting import cases_for
from audit.history import Attempt
from audit.job import Job
from audit.laws.running import carry_out
from audit.progress import Progress
from audit.record import Record
from audit.recording import record_of
from audit.samplers.interface import LoadedSampler, Sampler
from audit.samplers.registry import load_sampler, wrap_sampler
from audit.settings import DEFAULTS, Settings, check
from audit.verdict import Verdict

__all__ = ["AuditRun", "Progress", "Settings", "run_audit"]


@dataclass(frozen=True)
class AuditRun:
    """What `run_audit` returns."""

    record: Record
    exit_code: int

    @property
    def verdict(self) -> Verdict:
        """The verdict on the run."""
        return self.record.verdict

    @property
    def verdicts(self) -> dict[str, Verdict]:
        """The verdict on each case, by id."""
        return {case.id: case.verdict for case in self.record.cases}


def run_audit(
    sampler: str | Sampler,
    *,
    cases: Sequence[str | Case] = (),
    control: str | None = None,
    settings: Settings = DEFAULTS,
    run_dir: str | Path | None = None,
    progress: Callable[[Progress], None] | None = None,
    command: str = "",
) -> AuditRun:
    """Returns the audit of `sampler` on `cases`, beside that of the fault `control`, if given.

    sampler: a name that `draftproof samplers list` shows, `module:object`, `path.py:object`, or
    a callable (then run in this process). cases: ids, globs, paths or Case objects; empty for
    the shipped small ones that it takes. run_dir: keeps the counts; giving it again resumes the
    run, by its method, or extends it where the settings now allow more trials.

    Raises:
        UsageError: an argument is unusable, nothing is selected, or the control is blind.
        SamplerError: the sampler cannot be loaded.
    """
    check(settings)
    started, start = datetime.now(UTC).isoformat(timespec="milliseconds"), time.monotonic()
    folder = None if run_dir is None else Path(run_dir)
    earlier = attempts_in(folder)
    method = settings.method or (earlier[0].method if earlier else settings.usual_method)
    settings = replace(settings, method=method)
    with one_thread():
        with closing(_loaded(sampler, settings)) as subject:
            chosen = cases_for(subject, cases)
            job = Job(settings, chosen, control, folder, progress, start, earlier)
            main, beside = job.campaigns(subject)
            this = Attempt(started, settings.seed, settings.tier, settings.cap, method)
            note([*earlier, this], folder)
            carry_out(main, settings)
        if beside is not None and not main.interrupted:
            carry_out(beside, settings)
        record = record_of(main, beside, settings=settings, command=command, started=started)
    if folder is not None:
        record = with_attempts(record, earlier, this)
        note(record.attempts, folder)
    return AuditRun(record, record.exit_code)


def _loaded(sampler: str | Sampler, settings: Settings) -> LoadedSampler:
    if not isinstance(sampler, str):
        return wrap_sampler(sampler)
    return load_sampler(
        sampler,
        device=str(settings.torch_device),
        timeout=settings.timeout,
        in_process=settings.in_process,
        python=settings.python,
    )


@contextmanager
def one_thread() -> Iterator[None]:
    """Runs torch with one thread, since more of them slow these small tensors down.

    Inference mode is left: it hides writes into a sampler's inputs.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with torch.inference_mode(mode=False):
            yield
    finally:
        torch.set_num_threads(before)
