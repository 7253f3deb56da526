"""The pytest plugin: one test a case by a marker, and audits by hand with a fixture.

    @pytest.mark.draftproof(sampler="decoding.py:verify", cases=["small"], tier="smoke")
    def test_verify_is_lossless(): ...

The options are those of `draftproof run`; paths are relative to pytest's root folder. All cases of
a marker are audited together, once in a process, so that they share one alpha and their rows share
calls; each test then judges its own case before its body runs. What is undecided fails. With
pytest-xdist, `--dist loadfile` makes an audit once; otherwise every worker makes it again.

The hooks and fixtures themselves stand in entry/draftproof_pytest.py, which is installed beside
this package; nothing of draftproof is imported until a test asks for it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from audit.config import Asked
    from audit.errors import DraftproofError
    from audit.record import CaseResult, Record
    from audit.run import AuditRun

MARKER, CASE = "draftproof", "draftproof_case"
_DONE = pytest.StashKey[dict[str, "AuditRun | DraftproofError"]]()


def cases_of(marker: pytest.Mark, config: pytest.Config) -> list[str]:
    """Returns the ids of the cases of a marker. Raises CollectError where it asks for nothing."""
    from audit.errors import DraftproofError
    from audit.selection import select_cases

    try:
        return [case.id for case in select_cases(_words(_asked(marker, config)))]
    except DraftproofError as error:
        raise pytest.Collector.CollectError(str(error)) from error


class CaseAudit:
    """The audit of one case among those of a marker; it is made when it is first asked for."""

    def __init__(self, case: str, audit: Callable[[], AuditRun]) -> None:
        self.id, self._audit = case, audit

    @property
    def record(self) -> Record:
        """The record of the whole run."""
        return self._audit().record

    @property
    def result(self) -> CaseResult:
        """The result of this case; the test is skipped where the sampler takes no such drafts."""
        for case in self.record.cases:
            if case.id == self.id:
                return case
        pytest.skip(f"{self.id} drafts what the sampler does not take")

    def check(self) -> None:
        """Fails the test unless this case passed, and the run as a whole with it."""
        fail_unless_passed(self.record, only=self.result.id)


def case_of(item: Any) -> CaseAudit:
    """Returns the audit of the case that a marked test is about."""
    marker, config = item.get_closest_marker(MARKER), item.config
    if marker is None:
        pytest.fail(f"{CASE} needs @pytest.mark.{MARKER}(sampler=..., ...)", pytrace=False)
    return CaseAudit(item.callspec.params[CASE], lambda: _audited(_asked(marker, config), config))


def audit_by_hand(config: pytest.Config) -> Callable[..., AuditRun]:
    """Returns the function that the fixture `draftproof_audit` hands over."""

    def audit(sampler: Any, cases: Any = (), **options: Any) -> AuditRun:
        from audit.config import asked
        from audit.errors import UsageError

        given = [cases] if isinstance(cases, str) else list(cases)
        words = [case for case in given if isinstance(case, str)]
        ready = [case for case in given if not isinstance(case, str)]
        values = {"sampler": sampler, "cases": words, **options}
        try:
            what = asked(values, place="draftproof_audit", folder=config.rootpath)
            found = _made(what, [*ready, *(what.cases or ())])
        except UsageError as error:
            found = error
        done = _finished(found)
        fail_unless_passed(done.record)
        return done

    return audit


def fail_unless_passed(record: Record, *, only: str | None = None) -> None:
    """Fails the test with what did not pass, of the case `only` or of all, and of the run."""
    from audit.render.failure import failure_text
    from audit.render.findings import not_passed

    found = [
        one for one in not_passed(record) if only is None or one.case is None or one.case.id == only
    ]
    if found:
        pytest.fail("\n".join(failure_text(one, record) for one in found), pytrace=False)


def _asked(marker: pytest.Mark, config: pytest.Config) -> Asked:
    from audit.config import asked
    from audit.errors import UsageError

    if len(marker.args) > 1:
        raise UsageError(
            f"@pytest.mark.{MARKER} takes the sampler by its place and nothing else; name the "
            "rest, such as cases=[...]."
        )
    values = {**dict(zip(["sampler"], marker.args, strict=False)), **marker.kwargs}
    return asked(values, place=f"@pytest.mark.{MARKER}", folder=config.rootpath)


def _words(what: Asked) -> list[str]:
    """Returns the cases of a marker, which must be known before its sampler is."""
    return what.cases or ["small"]


def _audited(what: Asked, config: pytest.Config) -> AuditRun:
    """Returns the audit that a marker asks for, made once in this process."""
    done = config.stash.setdefault(_DONE, {})
    if repr(what) not in done:
        done[repr(what)] = _made(what, _words(what))
    return _finished(done[repr(what)])


def _made(what: Asked, cases: Sequence[Any]) -> AuditRun | DraftproofError:
    """Returns an audit, or why there is none."""
    from audit.errors import DraftproofError
    from audit.run import Settings, run_audit

    told = what.model_dump(exclude={"sampler", "cases", "control"}, exclude_none=True)
    settings = Settings(declares=tuple(told.pop("declares", ())), **told)
    try:
        return run_audit(what.sampler, cases=cases, control=what.control, settings=settings)
    except DraftproofError as error:
        return error


def _finished(found: AuditRun | DraftproofError) -> AuditRun:
    """Returns the audit; fails the test where there is none, and passes an interruption on."""
    from audit.errors import DraftproofError
    from audit.verdict import INTERRUPTED

    if isinstance(found, DraftproofError):
        pytest.fail(str(found), pytrace=False)
    if found.exit_code == INTERRUPTED:
        raise KeyboardInterrupt
    return found
