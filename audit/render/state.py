"""A state audit as text: what each world showed, what is broken, and what was seen how often."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from audit.exact.state_faults import CHANGING
from audit.plural import counted
from audit.render.plain import clean
from audit.render.terminal import STYLES, plain_table, rendered
from audit.render.words import Sign, e_value, fixed
from audit.state.record import StateOutcome, StateRecord, WorldResult

SIGNS = {
    StateOutcome.BROKEN: Sign("✗", "bad"),
    StateOutcome.DEPENDENT: Sign("≈", "bad"),
    StateOutcome.UNDECIDED: Sign("?", "open"),
    StateOutcome.NOT_TESTABLE: Sign("–", "open"),
    StateOutcome.CONSISTENT: Sign("✓", "good"),
}
SCOPE = (
    "Evidence on states over several rounds, with these models, prompt and lengths; no verdict on "
    "the sampling rule, and nothing about speed."
)
LOSSLESS = "A draft state that departs loses acceptance alone, where q is recorded from it."
_SENTENCE = 600


def first_line(record: StateRecord) -> str:
    """Returns the outcome and the sentence to read first."""
    sign = SIGNS[record.outcome].sign
    decoder = clean(record.decoder, 60)
    return f"{sign} {record.outcome.word}  {decoder}: {clean(record.sentence, _SENTENCE)}"


def state_text(record: StateRecord, *, color: bool, width: int) -> str:
    """Returns the whole result, `width` columns wide."""
    parts: list[RenderableType] = [
        Text(_settings(record), style="dim"),
        "",
        _worlds(record.worlds),
        "",
        *_findings(record.worlds),
        *_suspects(record),
        *_vocabulary(record),
        "",
        Text(first_line(record), style=STYLES[SIGNS[record.outcome].tone]),
        "",
        *_scope(record),
    ]
    return rendered(parts, color=color, width=width)


def _settings(record: StateRecord) -> str:
    told = record.settings
    options = "".join(f", {name}={value}" for name, value in told.options.items())
    return (
        f"up to {counted(told.sequences, 'sequence')} a world, {told.watched} of them call by "
        f"call, epsilon {told.epsilon:g}, alpha {told.alpha:g}, delta {told.delta:g}, seed "
        f"{told.seed}, {record.seconds:.0f} s{clean(options, 200)}"
    )


def _worlds(worlds: Iterable[WorldResult]) -> Table:
    numbers = ("sequences", "TV", "U", "e-value", "rejections", "full", "distinct")
    table = plain_table("world", "state", "tokens", *numbers, numbers=("tokens", *numbers))
    for world in worlds:
        sign = SIGNS[world.outcome]
        law, steps = world.law, world.steps
        table.add_row(
            clean(world.id, 40),
            Text(f"{sign.sign} {world.outcome.word}", style=STYLES[sign.tone]),
            str(world.tokens),
            f"{law.sequences:,}",
            fixed(law.total_variation.estimate),
            fixed(law.certified),
            e_value(law.log_e),
            str(steps.rejections),
            str(steps.full_acceptances),
            f"{law.distinct} of {law.possible}",
        )
    return table


def _findings(worlds: Iterable[WorldResult]) -> list[RenderableType]:
    """Returns the sentences of each world, and what its calls and other checks showed."""
    parts: list[RenderableType] = []
    for world in worlds:
        parts.append(Text(f"{clean(world.id, 40)}: {_compared(world)}"))
        parts += [Text(f"  {clean(reason, _SENTENCE)}") for reason in world.reasons]
        parts += [Text(f"  note: {clean(note, _SENTENCE)}") for note in world.notes]
    return parts


def _compared(world: WorldResult) -> str:
    steps, said = world.steps, []
    if steps.readable:
        (target, draft), (apart, draft_apart) = steps.compared, steps.largest
        control = "" if steps.control is None else f"; {steps.control:.1e} without speculation"
        said.append(
            f"{target} laws of the target at most {apart:.1e}, {draft} of the draft at most "
            f"{draft_apart:.1e} from a forward from scratch{control}"
        )
    if world.greedy is not None:
        equal = world.greedy.prompts - world.greedy.different
        said.append(f"greedy text equal on {equal} of {counted(world.greedy.prompts, 'prompt')}")
    if world.stops is not None:
        texts = counted(world.stops.sequences, "text")
        said.append(f"{world.stops.stopped:,} of {texts} met a stop token")
    said += [
        f"{one.rule} {one.value} on {one.later} later tokens of a round" for one in world.rules
    ]
    if world.reported is not None:
        said.append(f"{world.reported.tokens} reported log-probabilities read")
    return "; ".join(said) or "nothing but its law was compared"


def _suspects(record: StateRecord) -> list[RenderableType]:
    named = record.suspects
    if named is None:
        return []
    figures = f"posterior {named.posterior:.3g}, fit p = {named.fit:.2g}"
    if named.names:
        return [Text(f"consistent with {' = '.join(named.names)} ({figures}): {named.meaning}")]
    return [Text(f"no listed state fault fits; the nearest is {named.leader} ({figures})")]


def _vocabulary(record: StateRecord) -> list[RenderableType]:
    match = record.vocabulary
    if match is None:
        return []
    sizes = f"{match.target_size} and {match.draft_size} tokens"
    if match.same:
        return [Text(f"vocabularies: {sizes}, every draft id means the target's token")]
    shown = "; ".join(clean(one, 120) for one in match.differing)
    return [Text(f"vocabularies: {sizes}, different by {counted(match.different, 'id')}: {shown}")]


def _scope(record: StateRecord) -> list[RenderableType]:
    parts: list[RenderableType] = [Text(SCOPE, style="dim"), Text(LOSSLESS, style="dim")]
    if record.outcome is StateOutcome.CONSISTENT:
        parts.append(Text(_not_excluded(record)))
    return parts


def _not_excluded(record: StateRecord) -> str:
    """Returns what a consistent run leaves open; it leaves all open only where no law is known."""
    if len(record.not_excluded) == len(CHANGING):
        return (
            "The laws of the listed state faults are not known in these worlds: the comparison of "
            "every call decides, and reseeded-each-round shows in the law alone."
        )
    unseen = ", ".join(record.not_excluded) or "none"
    return f"Listed state faults that this run does not exclude: {unseen}."
