"""A record as text for a terminal: verdict table, sentence, scope, what is not shown."""

from __future__ import annotations

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from audit.record import Audit, CaseResult, Record
from audit.render import history, suspicion, words
from audit.render.facts import case_facts
from audit.render.plain import clean, clean_lines
from audit.render.steered import steered_lines
from audit.render.terminal import NARROW, STYLES, plain_table, rendered
from audit.verdict import INTERRUPTED, SCOPE, Outcome, Verdict

MOST_FINDINGS = 8
NAME_LIMIT = 60


def verdict_line(record: Record) -> str:
    """Returns the one line that `--quiet` prints, and what was said beforehand of the outcome."""
    return rendered([_conclusion(record), *_expectation(record)], color=False, width=10_000)


def audit_text(record: Record, *, color: bool, width: int, verbose: bool = False) -> str:
    """Returns the whole result, `width` columns wide; `verbose` adds every statistic."""
    parts: list[RenderableType] = [
        Text(words.settings_line(record), style="dim"),
        "",
        _case_table(record, narrow=width < NARROW),
        *([Text(words.LAW_COLUMN, style="dim")] if words.shows_laws(record.cases) else []),
        "",
    ]
    if verbose:
        parts += [part for case in record.cases for part in _details(case)]
    parts += [*_findings(record), _conclusion(record), *_expectation(record), *_diagnosis(record)]
    parts += [Text(line) for line in steered_lines(record.cases)]
    parts += [*_control(record), *_before(record), "", *_notes(record)]
    return rendered(parts, color=color, width=width)


def _case_table(record: Record, *, narrow: bool) -> Table:
    control = {case.id: case.verdict for case in record.control.cases} if record.control else {}
    numbers = ["U"] if narrow else ["trials", "TV", "(null)", "U", "e-value", "p"]
    numbers = ["law", *numbers] if words.shows_laws(record.cases) else numbers
    table = plain_table("case", "verdict", *numbers, *["control"][: len(control)], numbers=numbers)
    for case in words.worst_first(record.cases):
        table.add_row(
            Text(clean(case.id, NAME_LIMIT), overflow="fold"),
            _word(case.verdict),
            *(_numbers(case)[name] for name in numbers),
            *([_word(control.get(case.id))] if control else []),
        )
    return table


def _numbers(case: CaseResult) -> dict[str, str]:
    evidence, law = case.evidence, words.fixed(case.law_bound)
    if evidence is None:
        return dict.fromkeys(("trials", "TV", "(null)", "U", "e-value", "p"), "–") | {"law": law}
    view = evidence.views[0]
    return {
        "law": law,
        "trials": f"{evidence.trials:,}",
        "TV": words.fixed(view.total_variation.estimate),
        "(null)": f"({words.fixed(view.total_variation.null_mean)})",
        "U": words.fixed(evidence.certified),
        "e-value": words.e_value(evidence.gate.log_e),
        "p": words.p_value(view.cressie_read.p_value),
    }


def _word(verdict: Verdict | None) -> Text:
    """Returns the sign and word of a verdict; None: a case that cannot see the control."""
    if verdict is None:
        return Text("– blind")
    sign, tone = words.SIGNS[verdict.outcome]
    return Text(f"{sign} {verdict.word}", style=STYLES[tone], no_wrap=True)


def _findings(audit: Audit) -> list[Text]:
    """Returns a line for each case that did not pass, the worst first, and how many more.

    The case that the verdict on the run quotes is not repeated.
    """
    open_cases = [
        case
        for case in audit.cases
        if case.verdict.outcome is not Outcome.PASS and not _quoted(case, audit.verdict)
    ]
    lines = [
        Text.assemble(
            _word(case.verdict),
            f"  {clean(case.id, NAME_LIMIT)}: {clean(_finding(case), 400)}",
        )
        for case in words.worst_first(open_cases)[:MOST_FINDINGS]
    ]
    if more := len(open_cases) - len(lines):
        lines.append(Text(f"and {more} more."))
    return [*lines, Text("")] if lines else []


def _quoted(case: CaseResult, run: Verdict) -> bool:
    """Returns whether the verdict on the run ends with the name and the sentence of a case."""
    quote = f"{case.id}: {case.verdict.sentence}"
    return run.sentence == quote or run.sentence.endswith(f"; {quote}")


def _finding(case: CaseResult) -> str:
    """Returns the verdict's sentence, and which first token shows a failure best."""
    shown = ""
    if case.evidence is not None and case.verdict.outcome is Outcome.FAIL:
        shown = words.first_token(case.evidence)
    return f"{case.verdict.sentence}{'; ' if shown else ''}{shown}"


def _conclusion(audit: Audit) -> Text:
    name = clean(audit.sampler.name, NAME_LIMIT)
    sentence = clean(audit.verdict.sentence, 1_000)
    return Text.assemble(_word(audit.verdict), f"  {name}: {sentence}")


def _diagnosis(audit: Audit) -> list[Text]:
    """Returns what a failure is consistent with, and the steps that depart most."""
    return [Text(line) for line in suspicion.lines(audit.diagnoses)]


def _expectation(record: Record) -> list[Text]:
    """Returns what was said beforehand of the outcome: a bias accepted, a FAIL expected."""
    said = (words.acceptance(record), record.expectation)
    return [Text(clean(sentence, 400)) for sentence in said if sentence]


def _before(record: Record) -> list[Text]:
    """Returns what has changed since an earlier record, and the attempts if there are several."""
    attempts = history.attempt_facts(record) if len(record.attempts) > 1 else []
    lines = [*history.since_lines(record), *(f"{term}: {value}" for term, value in attempts)]
    return [Text(""), *map(Text, lines)] if lines else []


def _control(record: Record) -> list[Text]:
    return [Text("Control ").append_text(_conclusion(record.control))] if record.control else []


def _notes(record: Record) -> list[Text]:
    """Returns what limits the verdict: scope, faults that stay possible, what was not tested."""
    notes = [SCOPE]
    if record.exit_code == INTERRUPTED:
        notes.insert(
            0,
            "Interrupted: judged by what was measured; a run with a --run-dir goes on from there.",
        )
    if sentence := words.not_excluded_sentence(record):
        notes.append(sentence)
    notes.append(f"Not tested: {', '.join(words.NOT_TESTED)}.")
    return [Text(note, style="dim") for note in notes]


def _details(case: CaseResult) -> list[RenderableType]:
    table = plain_table("", "")
    table.show_header = False
    for term, value in case_facts(case):
        table.add_row(Text(f"  {term}"), Text(value))
    traceback = [Text(clean_lines(case.detail))] if case.detail else []
    return [Text(clean(case.id, NAME_LIMIT), style="bold"), table, *traceback, ""]
