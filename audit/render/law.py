"""Laws read off the code as text: verdict, bound, accept tests, last tokens, readings, edges."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.console import RenderableType
from rich.text import Text

from audit.lawrecord import LawCase, LawRecord
from audit.plural import counted
from audit.render.plain import clean, clean_lines
from audit.render.steered import MODES, edge, told
from audit.render.terminal import STYLES, plain_table, rendered
from audit.render.words import SIGNS, fixed
from audit.steered import AcceptTest, LastToken, NotSteered, SteeredEvidence
from audit.verdict import SCOPE, Verdict

SHOWN = 4  # tests, last tokens or edges of a case, the worst, unless all are wanted
MOST_TOKENS = 8
HONEST = (
    "The map is a search's claim, and the coupled calls its proof: their part of the bound falls "
    "with --epsilon. Rows of one call are not compared with each other; `draftproof run` does."
)
_SENTENCE, _NAME = 600, 60
_DIGITS = 12  # below them nothing is put in order


def law_line(record: LawRecord) -> str:
    """Returns the verdict on all cases."""
    name = clean(record.sampler.name, _NAME)
    return f"{_word(record.verdict)}  {name}: {clean(record.verdict.sentence, _SENTENCE)}"


def law_text(record: LawRecord, *, color: bool, width: int, verbose: bool = False) -> str:
    """Returns the whole result, `width` columns wide; `verbose` shows every test of every case."""
    parts: list[RenderableType] = [Text(_settings(record), style="dim"), ""]
    for case in record.cases:
        parts += [*_case(case, verbose=verbose), ""]
    parts += [Text(law_line(record), style=_style(record.verdict)), "", *_notes(record)]
    return rendered(parts, color=color, width=width)


def _settings(record: LawRecord) -> str:
    told, count = record.settings, len(record.cases)
    return (
        f"{counted(count, 'case')}, {told.dtype} rows, epsilon {told.epsilon:g}, alpha "
        f"{told.alpha:g}, delta {told.delta:g}, seed {told.seed}, {record.seconds:.0f} s"
    )


def _case(case: LawCase, *, verbose: bool) -> Iterable[RenderableType]:
    yield Text.assemble(
        (clean(case.id, _NAME), "bold"),
        "  ",
        (_word(case.verdict), _style(case.verdict)),
        f"  {clean(case.verdict.sentence, _SENTENCE)}",
    )
    for reason in case.verdict.reasons[1:]:
        yield Text(f"  {clean(reason, _SENTENCE)}")
    if isinstance(case.evidence, SteeredEvidence):
        yield Text(f"  {_calls(case.evidence)}", style="dim")
        for says in told(case.evidence):
            yield Text(f"  it {clean(says, _SENTENCE)}")
    if case.law is not None:
        yield from _tests(case.law.tests, verbose=verbose)
        yield from _last(case.law.last, verbose=verbose)
    if isinstance(case.evidence, SteeredEvidence):
        yield from _edges(case.evidence, verbose=verbose)
    if verbose and case.detail:
        yield Text(clean_lines(case.detail))


def _calls(found: SteeredEvidence) -> str:
    search = counted(found.search_calls, "call")
    return f"{search} to find it, {found.calls:,} to prove it, {MODES[found.mode]}"


def _tests(tests: Sequence[AcceptTest], *, verbose: bool) -> Iterable[RenderableType]:
    if not tests:
        return
    shown = sorted(tests, key=lambda test: -round(abs(test.chance - test.ideal), _DIGITS))
    shown = list(tests) if verbose or len(tests) <= SHOWN else shown[:SHOWN]
    numbers = ("reached", "accepted", "min(1, p/q)", "off")
    table = plain_table("  accept test", *numbers, numbers=numbers)
    for test in shown:
        off = test.chance - test.ideal
        table.add_row(
            f"  {_after(test.prefix)}token {test.token}",
            fixed(test.reached),
            f"{test.chance:.11f}",
            f"{test.ideal:.11f}",
            f"{off:+.1e}" if off else "0",
        )
    yield table
    yield from _more(len(tests) - len(shown), "more test", ", less far off")


def _last(last: Sequence[LastToken], *, verbose: bool) -> Iterable[RenderableType]:
    if not last:
        return
    shown = sorted(last, key=lambda one: -round(one.distance, _DIGITS))
    shown = list(last) if verbose or len(last) <= SHOWN else shown[:SHOWN]
    table = plain_table("  last token", "reached", "TV", "law", numbers=("reached", "TV"))
    for one in shown:
        table.add_row(
            f"  {_after(one.prefix)}{_drawn(one)}",
            fixed(one.reached),
            fixed(one.distance) if one.ideal else "–",
            _law(one.law),
        )
    yield table
    yield from _more(len(last) - len(shown), "more last token", ", less far off")


def _drawn(one: LastToken) -> str:
    return "bonus" if one.rejected is None else f"recovered, {one.rejected} rejected"


def _after(prefix: Sequence[int]) -> str:
    return f"after {' '.join(map(str, prefix))}: " if prefix else ""


def _law(law: Sequence[float]) -> str:
    """Returns the probabilities of the ids that can come, the likeliest of many.

    >>> _law([0.0, 2 / 3, 1 / 3])
    '1: 0.66666667, 2: 0.33333333'
    """
    found = [(token, chance) for token, chance in enumerate(law) if chance]
    kept = sorted(sorted(found, key=lambda item: -item[1])[:MOST_TOKENS])
    text = ", ".join(f"{token}: {chance:.8f}" for token, chance in kept)
    return text if len(kept) == len(found) else f"{text}, ..."


def _edges(found: SteeredEvidence, *, verbose: bool) -> Iterable[RenderableType]:
    shown = found.edges if verbose else found.edges[:SHOWN]
    for one in shown:
        style = STYLES["bad"] if one.grade == "FAIL" else ""
        yield Text(f"  {clean(edge(one), _SENTENCE)}", style=style)
    yield from _more(len(found.edges) - len(shown), "more edge")


def _more(number: int, of_what: str, how: str = "") -> Iterable[RenderableType]:
    if number:
        yield Text(f"  and {counted(number, of_what)}{how}", style="dim")


def _notes(record: LawRecord) -> Iterable[RenderableType]:
    notes = [SCOPE, HONEST, *_alone(record)]
    if any(isinstance(case.evidence, NotSteered) for case in record.cases):
        notes.append("Where no law could be read off, sampling tells: draftproof run.")
    if record.interrupted:
        notes.insert(0, _interruption(record))
    if record.not_excluded is not None:
        unseen = ", ".join(record.not_excluded) or "none"
        notes.append(f"Catalogued faults that the cases that passed do not exclude: {unseen}.")
    return [Text(note, style="dim") for note in notes]


def _alone(record: LawRecord) -> list[str]:
    """Returns what is left open where rows were asked one by one."""
    found = [case.evidence for case in record.cases if isinstance(case.evidence, SteeredEvidence)]
    alone = [one for one in found if one.mode == "Single"]
    told = "only `draftproof run` tells whether more rows a call change it"
    where = f"{len(alone)} of {counted(len(record.cases), 'case')}"
    return [f"The law of calls of one row was read in {where}; {told}."] if alone else []


def _interruption(record: LawRecord) -> str:
    """Returns what an interruption leaves: the rows of a proof are fixed before it begins."""
    left = record.settings.cases[len(record.cases) :]
    before = "; the cases above were read before" if record.cases else ""
    return f"Interrupted in {clean(', '.join(left[:1]), _NAME)}, of which nothing counts{before}."


def _word(verdict: Verdict) -> str:
    return f"{SIGNS[verdict.outcome].sign} {verdict.word}"


def _style(verdict: Verdict) -> str:
    return STYLES[SIGNS[verdict.outcome].tone]
