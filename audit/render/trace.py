"""The record of a trace as text: pools, places, declared rule, verdict, and what was left out."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from audit.plural import counted
from audit.render.plain import clean
from audit.render.terminal import STYLES, plain_table, rendered
from audit.render.words import SIGNS, e_value, fixed, p_value
from audit.tracefile.problems import placed
from audit.tracerecord import TraceRecord
from audit.traces.evidence import RuleReading, TraceEvidence
from audit.traces.judge import SCOPE, TRUST
from audit.verdict import Outcome

SENTENCE_LIMIT = 1_000
PATH_LIMIT = 200


def trace_line(record: TraceRecord) -> str:
    """Returns the one line that `--quiet` prints."""
    return rendered([_conclusion(record)], color=False, width=10_000)


def trace_text(record: TraceRecord, *, color: bool, width: int) -> str:
    """Returns the whole result, `width` columns wide."""
    evidence = record.evidence
    parts: list[RenderableType] = [
        Text(_settings(record), style="dim"),
        Text(_read(record), style="dim"),
        "",
        _pools(evidence),
        "",
        _places(evidence),
        "",
        *_rule(evidence.rule),
        *_problems(record),
        _conclusion(record),
        *_reasons(record),
        "",
        *(Text(note, style="dim") for note in _notes(record)),
    ]
    return rendered(parts, color=color, width=width)


def _settings(record: TraceRecord) -> str:
    s = record.settings
    declared = " or ".join(s.declares) or "nothing"
    stated = f", tolerance {s.tolerance:g}" if s.tolerance is not None else ""
    return (
        f"trace, alpha {s.alpha:g}, delta {s.delta:g}, epsilon {s.epsilon:g}{stated}, "
        f"declared: {declared}"
    )


def _read(record: TraceRecord) -> str:
    e, cut = record.evidence, sum(file.truncated for file in record.files)
    parts = [
        f"{counted(e.rounds, 'round')} of {counted(len(record.files), 'file')}",
        f"{counted(e.drafted, 'token')} drafted, {e.emitted:,} emitted",
        f"{e.judged:,} sampled and judged",
        *([f"{e.greedy:,} greedy"] if e.greedy else []),
        *([f"{e.unjudged:,} without a target row"] if e.unjudged else []),
        *([f"{counted(record.bad, 'bad record')} left out"] if record.bad else []),
        *([f"{counted(cut, 'file')} cut off within a record"] if cut else []),
    ]
    return ", ".join(parts)


def _pools(evidence: TraceEvidence) -> Table:
    numbers = ("tokens", "TV", "(null)", "lower", "U", "p")
    table = plain_table("pooled by", *numbers, numbers=numbers)
    for order in evidence.orders:
        bounds = (order.tv, order.null_mean, order.lower, order.upper)
        tv, null, lower, upper = map(fixed, bounds)
        p = p_value(order.p_value)
        table.add_row(order.order, f"{order.n:,}", tv, f"({null})", lower, upper, p)
    return table


def _places(evidence: TraceEvidence) -> Table:
    numbers = ("tokens", "of target probability 0", "p")
    table = plain_table("place", *numbers, "shown by", numbers=numbers)
    for place in evidence.places:
        p = p_value(place.p_value)
        table.add_row(place.place, f"{place.tokens:,}", f"{place.impossible:,}", p, place.order)
    return table


def _rule(rule: RuleReading | None) -> list[RenderableType]:
    if rule is None:
        return []
    table = plain_table("step", "tokens", "declared " + " or ".join(rule.declared))
    if len(rule.declared) == 1:
        if rule.drafted:
            never = f", {rule.never_drafted:,} of draft probability 0" * bool(rule.never_drafted)
            p = p_value(rule.drafted_p)
            table.add_row("drafted", f"{rule.drafted:,}", f"from the draft rows: p {p}{never}")
        table.add_row("accepted", f"{rule.accepted:,}", _accepted(rule))
        if rule.recovered:
            recovered = f"from the rule's rows: p {p_value(rule.recovered_p)}"
            table.add_row("recovered", f"{rule.recovered:,}", recovered)
        bar = e_value(rule.gate.log_threshold)
        both = f"{e_value(rule.gate.log_e_max)}, FAIL from {bar}"
        table.add_row("together", "", f"e-value at most {both}")
    test = rule.excluded
    table.add_row("excluded", "", f"{test.events:,} of {counted(test.n, 'round')}")
    if rule.left_out:
        table.add_row(
            "left out", "", f"{counted(rule.left_out, 'round')} whose rows do not suffice"
        )
    return [table, *(Text(f"  {clean(t, 400)}") for t in rule.traces), ""]


def _accepted(rule: RuleReading) -> str:
    exact = f"{rule.low:,.1f}"
    if rule.high > rule.low * (1 + 1e-9):
        exact = f"between {rule.low:,.1f} and {rule.high:,.1f}"
    return f"expected {exact}, standard deviation {rule.deviation:,.1f}"


def _problems(record: TraceRecord) -> list[RenderableType]:
    if not record.problems:
        return []
    lines = [
        f"{placed(clean(p.file, PATH_LIMIT), p.line)}: {clean(p.field)} = {clean(p.value)} "
        f"{clean(p.reason, 300)}"
        for p in record.problems
    ]
    if more := record.bad - len(lines):
        lines.append(f"and {more:,} more.")
    return [Text("Left out:", style="bold"), *(Text(f"  {line}") for line in lines), ""]


def _conclusion(record: TraceRecord) -> Text:
    verdict = record.verdict
    sign, tone = SIGNS[verdict.outcome]
    sentence = clean(verdict.sentence, SENTENCE_LIMIT)
    return Text.assemble((f"{sign} {verdict.word}", STYLES[tone]), f"  trace: {sentence}")


def _reasons(record: TraceRecord) -> list[Text]:
    """Returns what else is proven or missing, where to look, and what fits."""
    verdict, evidence = record.verdict, record.evidence
    lines = [clean(reason, SENTENCE_LIMIT) for reason in verdict.reasons[1:]]
    if verdict.outcome is Outcome.FAIL:
        lines += [clean(trace, 400) for trace in evidence.traces]
        lines.append(_suspicion(evidence))
    return [Text(f"  {line}") for line in lines]


def _suspicion(evidence: TraceEvidence) -> str:
    if evidence.fits:
        return f"Consistent with {' or '.join(evidence.fits)}, in every round."
    leader = evidence.gate.leader
    led = f"; of the bets, that on {leader} gained most" if leader else ""
    return f"No fault that is bet on fits at full strength{led}."


def _notes(record: TraceRecord) -> Iterable[str]:
    """Returns what limits the verdict."""
    evidence = record.evidence
    if record.interrupted:
        yield "Interrupted: judged by the rounds that were read."
    yield SCOPE
    yield TRUST
    if evidence.judged and record.verdict.outcome is not Outcome.FAIL:
        named = [f"{name} ({share:.1%})" for name, share in evidence.excluded.items()]
        yield (
            "Faults excluded, acting at every place in at least this share of rounds: "
            f"{', '.join(named) or 'none'}."
        )
    if evidence.rest > 0:
        yield (
            f"Rows list {1 - evidence.rest:.2%} of the mass on average: all statements are about "
            "the listed tokens and the sum of the others, and say nothing about what happens "
            "among those."
        )
