"""What has changed from one record to a later one: verdicts, cases, the sampler's code."""

from __future__ import annotations

from typing import Literal

from audit.history import Since
from audit.record import CaseResult, Record
from audit.verdict import Outcome
from audit.versions import code_changes

Standing = Literal["passing", "failing", "undecided"]
_FAILING = {Outcome.ERROR, Outcome.FAIL, Outcome.DEPENDENT, Outcome.WITHIN}


def since(before: Record, after: Record) -> Since:
    """Returns what has changed from the record `before` to the record `after`."""
    old = {case.id: case for case in before.cases}
    new = {case.id: case for case in after.cases}
    both = [name for name in new if name in old]
    was = {name: standing(case, before) for name, case in old.items()}
    now = {name: standing(case, after) for name, case in new.items()}

    def newly(wanted: Standing) -> tuple[str, ...]:
        return tuple(name for name in now if now[name] == wanted != was.get(name))

    return Since(
        started=before.started,
        sampler=before.sampler.name,
        newly_failing=newly("failing"),
        newly_passing=newly("passing"),
        newly_undecided=newly("undecided"),
        added=tuple(name for name in new if name not in old),
        removed=tuple(name for name in old if name not in new),
        redefined=tuple(name for name in both if old[name].hash != new[name].hash),
        code=_other_code(before.sampler.identity, after.sampler.identity),
    )


def differences(before: Record, after: Record) -> list[str]:
    """Returns a sentence for each way in which a repeated run is not the same run.

    Equal seeds on equal hardware give equal counts; no difference is no new evidence either.
    """
    found = _other_cases(before, after)
    code = ", ".join(code_changes(before.sampler.identity, after.sampler.identity))
    if not code:
        return found
    if not found:
        return [f"same counts as in the record, but not the same code: {code}"]
    return [f"not the same code as in the record: {code}", *found]


def _other_cases(before: Record, after: Record) -> list[str]:
    """Returns a sentence for each case that is missing, is another one, or has other counts."""
    found = []
    new = {case.id: case for case in after.cases}
    for old in before.cases:
        if old.id not in new:
            found.append(f"case {old.id} was not run")
        elif old.hash != new[old.id].hash:
            found.append(f"case {old.id} is not the same case as in the record")
        elif old.counts != new[old.id].counts:
            found.append(f"case {old.id} has other counts")
    return found


def compared(record: Record, earlier: Record | None) -> Record:
    """Returns the record with what has changed since an earlier one, if there is one."""
    if earlier is None:
        return record
    return record.model_copy(update={"since": since(earlier, record)})


def standing(case: CaseResult, record: Record) -> Standing:
    """Returns how a case of a record stands; a bias that was accepted beforehand passes."""
    outcome = case.verdict.outcome
    if outcome is Outcome.PASS or case.accepted(record.settings.accept_within):
        return "passing"
    return "failing" if outcome in _FAILING else "undecided"


def _other_code(before: dict[str, str], after: dict[str, str]) -> dict[str, tuple[str, str]]:
    pairs = {name: (before.get(name, ""), after.get(name, "")) for name in before | after}
    return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}
