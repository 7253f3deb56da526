"""A record as JUnit XML: one test case a case, numbers in its output, undecided as skipped.

A known defect that fails as it should is skipped too, as pytest has it, and says so.

No properties and no attribute beyond the common schema, since readers differ in what they take.
"""

from __future__ import annotations

from xml.dom import minidom

from junitparser import Error, Failure, JUnitXml, Skipped, TestCase, TestSuite

from audit.record import Record
from audit.render.findings import SENTENCE_LIMIT, Judged, again, explained, judged
from audit.render.numbers import numbers
from audit.render.plain import clean, clean_lines

_RESULTS = {"failed": Failure, "error": Error, "open": Skipped, "expected": Skipped}
_SECONDS = len("2025-01-31T12:00:00")  # the schema knows no zone; the record's is always UTC


def junit(record: Record) -> str:
    """Returns the XML of a record."""
    suite = TestSuite(clean(f"draftproof {record.sampler.name}"))
    suite.timestamp = clean(record.started[:_SECONDS])
    suite.add_testcases([_test_case(one, record) for one in judged(record)])
    xml = JUnitXml()
    xml.add_testsuite(suite)
    xml.update_statistics()
    suite.time = xml.time = record.seconds
    return minidom.parseString(xml.tostring()).toprettyxml(indent=" ", encoding="utf-8").decode()


def _test_case(one: Judged, record: Record) -> TestCase:
    case = TestCase(one.name, classname=clean(record.sampler.name))
    if one.kind != "passed":
        known = f"{record.expectation}; " * (one.kind == "expected")
        kind = "expected failure" if known else one.verdict.word
        result = _RESULTS[one.kind](clean(known + explained(one), SENTENCE_LIMIT), kind)
        result.text = _details(one, record)
        case.result = [result]
    case.system_out = "\n".join(_output(one, record))
    return case


def _details(one: Judged, record: Record) -> str:
    reasons = [clean(reason, SENTENCE_LIMIT) for reason in one.verdict.reasons]
    traceback = clean_lines(one.case.detail) if one.case else ""
    lines = [explained(one), *reasons, traceback, again(one, record)]
    return "\n".join(dict.fromkeys(line for line in lines if line))


def _output(one: Judged, record: Record) -> list[str]:
    lines = [f"verdict: {one.verdict.word}", f"sentence: {explained(one)}"]
    if one.case is not None and one.case.evidence is not None:
        found = numbers(one.case.evidence)._asdict().items()
        lines += [f"{name}: {value}" for name, value in found if value is not None]
    return [*lines, again(one, record)]
