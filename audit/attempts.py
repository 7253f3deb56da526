"""The attempts at a run: what its run directory remembers of every start.

A start is noted before the first trial, so that a killed process is told about as well. A failure
is never retried away: where an earlier attempt was judged worse, its verdict stays.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from audit.errors import UsageError
from audit.files import write_atomically
from audit.history import Attempt
from audit.plural import counted
from audit.record import Record
from audit.verdict import Outcome, Verdict

_NAME = "attempts.json"
_LIST = TypeAdapter(tuple[Attempt, ...])
_FAILED = (Outcome.ERROR, Outcome.FAIL, Outcome.DEPENDENT)
WHOLE_RUN = ""


def attempts_in(folder: Path | None) -> tuple[Attempt, ...]:
    """Returns the attempts noted in a run directory, the earliest first.

    Raises: UsageError where the note is damaged.
    """
    if folder is None or not (path := folder / _NAME).exists():
        return ()
    try:
        return _LIST.validate_json(path.read_bytes())
    except (OSError, ValidationError) as error:
        raise UsageError(
            f"{path} is damaged or unreadable ({type(error).__name__}); give another --run-dir."
        ) from error


def refuse_smaller(cap: int, earlier: Sequence[Attempt], *, folder: Path | None) -> None:
    """Raises UsageError where an earlier attempt may have made more trials a case than `cap`."""
    most = max((attempt.cap for attempt in earlier), default=0)
    if cap < most:
        raise UsageError(
            f"run directory {folder}: it allowed {counted(most, 'trial')} a case, and {cap:,} now "
            "would leave evidence out; give the same --tier or a larger one, or another --run-dir."
        )


def note(attempts: Sequence[Attempt], folder: Path | None) -> None:
    """Writes the attempts into the run directory, if there is one."""
    if folder is not None:
        text = json.dumps(_LIST.dump_python(tuple(attempts), mode="json"), indent=1)
        write_atomically(folder / _NAME, text + "\n")


def failed_before(earlier: Sequence[Attempt]) -> dict[str, Verdict]:
    """Returns the worst that each case, or the run as a whole, failed with in earlier attempts."""
    worst: dict[str, Verdict] = {}
    for attempt in earlier:
        for case, verdict in attempt.failed.items():
            worst[case] = worse(verdict, worst.get(case))
    return worst


def worse(one: Verdict, other: Verdict | None) -> Verdict:
    """Returns the worse of two verdicts, the first where they are equally bad."""
    order = list(Outcome)
    if other is None or order.index(one.outcome) <= order.index(other.outcome):
        return one
    return other


def with_attempts(record: Record, earlier: Sequence[Attempt], this: Attempt) -> Record:
    """Returns the record of this attempt with all attempts, and every seed tried."""
    verdicts = {case.id: case.verdict for case in record.cases}
    if record.verdict.outcome not in {verdict.outcome for verdict in verdicts.values()}:
        verdicts[WHOLE_RUN] = record.verdict
    failed = {case: verdict for case, verdict in verdicts.items() if verdict.outcome in _FAILED}
    attempts = (*earlier, replace(this, exit_code=record.exit_code, failed=failed))
    seeds = tuple(dict.fromkeys(attempt.seed for attempt in attempts))
    return record.model_copy(update={"attempts": attempts, "seeds_tried": seeds})
