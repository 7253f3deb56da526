"""What a machine needs of a record: what was judged, what failed, under which rule, and where.

A path is relative to the user's repository and a finding always has one: that of the sampler's
code, else that of the case. A fingerprint is made of rule, case and sampler, never of a line, so
that it stays when code moves. All text is harmless already.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from typing import Literal, NamedTuple

from audit.expectation import as_expected, not_as_expected
from audit.record import CaseResult, Record
from audit.render import words
from audit.render.plain import clean
from audit.verdict import INTERRUPTED, Outcome, Verdict

Kind = Literal["passed", "failed", "error", "open", "expected"]
_KINDS: dict[Outcome, Kind] = {
    Outcome.PASS: "passed",
    Outcome.FAIL: "failed",
    Outcome.DEPENDENT: "failed",
    Outcome.WITHIN: "failed",
    Outcome.ERROR: "error",
}
_ORDER = list(Outcome)
EXPECTATION, EXPECTATION_RULE = "expectation", "audit-expectation"
SENTENCE_LIMIT = 1_000
REPEAT_LIMIT = 2_000
_SUSPECTS_LIMIT = 400
_PATH_LIMIT = 400
_SOURCE = re.compile(r"([^:\\]+)(?::([0-9]{1,9}))?")


class Judged(NamedTuple):
    """A case, or (case None) the run where no case says why it did not pass.

    kind: "open" is undecided, "expected" a known defect that failed as it should; a bias that was
    accepted beforehand has passed.
    """

    name: str
    verdict: Verdict
    kind: Kind
    case: CaseResult | None


class Place(NamedTuple):
    """A line of a file in the repository; the path has slashes."""

    path: str
    line: int


class Finding(NamedTuple):
    """Something that failed. rule: the suspect that fits best, else the kind of failure."""

    rule: str
    judged: Judged
    place: Place
    fingerprint: str


def judged(record: Record) -> list[Judged]:
    """Returns every case in the order of the run, then what only the run as a whole shows."""
    cases = [
        Judged(clean(case.id), case.verdict, _kind_of(case, record), case) for case in record.cases
    ]
    return [*cases, *_of_the_run(record)]


def worst_first(record: Record) -> list[Judged]:
    """Returns all that was judged, the worst first, else in that order."""
    return sorted(judged(record), key=lambda one: _ORDER.index(one.verdict.outcome))


def not_passed(record: Record) -> list[Judged]:
    """Returns all that did not pass and was not expected to fail, the worst first."""
    return [one for one in worst_first(record) if one.kind not in ("passed", "expected")]


def findings(record: Record) -> list[Finding]:
    """Returns all that failed, the worst first; what is undecided is no finding."""
    return [
        Finding(rule_of(one), one, place_of(one, record), _fingerprint(one, record))
        for one in not_passed(record)
        if one.kind != "open"
    ]


def rule_of(one: Judged) -> str:
    """Returns the id of what failed."""
    suspects = one.verdict.suspects
    if one.name == EXPECTATION and one.case is None:
        return EXPECTATION_RULE
    return clean(suspects[0]) if suspects else f"audit-{one.verdict.outcome.lower()}"


def explained(one: Judged) -> str:
    """Returns the verdict's sentence, the first token that shows a failure best, the suspects."""
    sentence = clean(one.verdict.sentence, SENTENCE_LIMIT).rstrip(".")
    evidence = one.case.evidence if one.case else None
    failed = one.verdict.outcome is Outcome.FAIL
    shown = words.first_token(evidence) if failed and evidence else ""
    suspects = clean(", ".join(one.verdict.suspects), _SUSPECTS_LIMIT)
    parts = [sentence, shown, f"consistent with {suspects}" if suspects else ""]
    return "; ".join(part for part in parts if part) + "."


def repeat_of(one: Judged, record: Record) -> str:
    """Returns the command for the case alone or for the run, "" where the record has none."""
    return clean(one.case.repeat if one.case else record.command, REPEAT_LIMIT)


def again(one: Judged, record: Record) -> str:
    """Returns how a case is audited alone, or the run repeated, "" where the record does not say.

    A case alone has other seeds and another share of alpha than in the run: its counts are others.
    """
    command = repeat_of(one, record)
    return f"{'Audit this case alone' if one.case else 'Repeat the run'}: {command}" * bool(command)


def place_of(one: Judged, record: Record) -> Place:
    """Returns where the sampler's code stands, else the case; of the run, its first case."""
    case = one.case or next(iter(record.cases), None)
    sources = (record.sampler.source, _file_in(record.sampler.name), case.source if case else "")
    known = (place for place in map(_parsed, sources) if place)
    name = re.sub(r"[^A-Za-z0-9_-]", "_", case.id[:100] if case else "none")
    return next(known, Place(f"cases/{name}.toml", 1))


def _kind_of(case: CaseResult, record: Record) -> Kind:
    if case.accepted(record.settings.accept_within):
        return "passed"
    kind = _KINDS.get(case.verdict.outcome, "open")
    return "expected" if kind == "failed" and as_expected(record) else kind


def _of_the_run(record: Record) -> Iterator[Judged]:
    """Yields what would be missed in a list of cases alone."""
    outcome, control = record.verdict.outcome, record.control
    if outcome not in {case.verdict.outcome for case in record.cases}:
        kind = "expected" if as_expected(record) else _KINDS.get(outcome, "open")
        yield Judged("all cases together", record.verdict, kind, None)
    if not_as_expected(record):
        yield Judged(EXPECTATION, Verdict(Outcome.FAIL, record.expectation), "failed", None)
    if record.exit_code == INTERRUPTED:
        cut = Verdict(Outcome.NO_VERDICT, "interrupted: judged by what was measured")
        yield Judged("the whole run", cut, "open", None)
    if control is not None and control.verdict.outcome is not Outcome.FAIL:
        said = f"{control.sampler.name} was to fail: {control.verdict.sentence}"
        yield Judged("control", Verdict(Outcome.INCONCLUSIVE, said), "open", None)


def _fingerprint(one: Judged, record: Record) -> str:
    case = one.case.id if one.case else one.name
    text = json.dumps([rule_of(one), case, record.sampler.name])
    return hashlib.sha256(text.encode()).hexdigest()


def _file_in(name: str) -> str:
    """Returns the path in `path.py:object`, "" in every other name; old records hold no more."""
    path, _, _ = name.rpartition(":")
    return path.removeprefix("./") if path.endswith(".py") else ""


def _parsed(source: str) -> Place | None:
    """Returns the place in `path` or `path:line`, None where that is no path in a repository."""
    found = _SOURCE.fullmatch(source)
    if found is None or {"", ".", ".."} & set(found[1].split("/")):
        return None
    usable = clean(found[1], _PATH_LIMIT) == found[1]
    return Place(found[1], max(int(found[2] or 1), 1)) if usable else None
