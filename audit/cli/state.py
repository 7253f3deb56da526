"""`state`: runs a whole decode loop and asks whether its states match the text it has emitted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from audit.cli.color import color_option, stdout_color
from audit.cli.options import error_rates, exit_zero, seed_option
from audit.cli.output import check_places, stdout_width, write_forms
from audit.cli.parameters import Finite

EXIT_CODES = """\
Exit codes: 0 consistent, 1 broken or dependent, 2 usage, 3 undecided or not testable, 4 the decoder
broke its contract or raised, 70 internal error, 130 interrupted.
"""


def _prompt(_: click.Context, __: click.Parameter, text: str) -> tuple[int, ...]:
    from audit.state.settings import prompt_of

    return prompt_of(text)


def _options(_: click.Context, __: click.Parameter, texts: tuple[str, ...]) -> object:
    from audit.state.settings import options_of

    return options_of(texts)


@click.command(epilog=EXIT_CODES)
@click.argument("decoder", metavar="DECODER")
@click.option(
    "--cases",
    multiple=True,
    metavar="ID|GLOB|PATH",
    help="Cases whose rows the models have. Repeatable; default: four on which rows depend on "
    "the last two tokens.",
)
@click.option(
    "--architecture",
    "architectures",
    multiple=True,
    type=click.Choice(["gpt2", "llama"]),
    help="Run in a world of two tiny random models as well, for decoders of transformers' models.",
)
@click.option(
    "--option",
    "options",
    multiple=True,
    callback=_options,
    metavar="KEY=VALUE",
    help="A sampling rule (repetition_penalty, grammar, temperature, top_k, top_p, min_p) or an "
    "argument of DECODER, such as form=prompt-lookup. Repeatable.",
)
@click.option(
    "--sequences",
    type=click.IntRange(min=1),
    default=5_000,
    show_default=True,
    metavar="N",
    help="Sequences a world at most.",
)
@click.option(
    "--watched",
    type=click.IntRange(min=1),
    default=100,
    show_default=True,
    metavar="N",
    help="Sequences whose every model call is compared with a forward from scratch.",
)
@click.option(
    "--tokens",
    type=click.IntRange(min=1),
    metavar="N",
    help="Tokens judged together. Default: one more than a round can emit, at least 3.",
)
@click.option(
    "--prompt",
    default="1",
    show_default=True,
    callback=_prompt,
    metavar="IDS",
    help="Token ids, with commas.",
)
@click.option(
    "--vocabularies",
    nargs=2,
    type=click.Path(path_type=Path),
    metavar="TARGET DRAFT",
    help="Two tokenizer.json, or JSON lists of tokens: do they mean the same by the same ids?",
)
@click.option(
    "--vocabulary-map",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="A JSON list with the target's id for each id of the draft.",
)
@click.option(
    "--epsilon",
    type=Finite(1),
    default=0.1,
    show_default=True,
    help="The total variation of all tokens together to certify.",
)
@error_rates
@seed_option("The seed of everything that is drawn.")
@click.option(
    "--timeout",
    type=Finite(),
    default=60.0,
    show_default=True,
    metavar="SECONDS",
    help="The longest that one call of a decoder of yours may take, in a process of its own.",
)
@click.option(
    "--in-process", is_flag=True, help="Run a decoder of yours in this process, without a limit."
)
@click.option("--json", metavar="FILE", help="Write the record ('-': to stdout).")
@click.option("-q", "--quiet", is_flag=True, help="Print the first line only, and no progress.")
@exit_zero
@color_option
@click.pass_obj
def state(
    command: str, /, decoder: str, cases: tuple[str, ...],
    vocabularies: tuple[Path, Path] | None, vocabulary_map: Path | None,
    timeout: float, in_process: bool,
    json: str | None, quiet: bool, exit_zero: bool, **settings: Any,
) -> int:  # fmt: skip
    """Runs DECODER over several rounds: do its states match the text that it has emitted?

    DECODER is reference, fault:ID of a state fault, transformers, module:object or
    path/to/file.py:object. This is evidence on states, and no verdict on the sampling rule.
    """
    from audit.render.state import first_line, state_text
    from audit.state.apart import audit_named
    from audit.state.record import to_json
    from audit.state.settings import StateSettings
    from audit.state.vocabulary import compare_files

    check_places(json=json)
    record = audit_named(
        decoder,
        cases or None,
        settings=StateSettings(**settings),
        vocabulary=compare_files(vocabularies, vocabulary_map),
        command=command,
        timeout=0 if in_process else timeout,
        progress=lambda world: None if quiet else click.echo(f"state: {world}", err=True),
    )
    color, width = stdout_color(), stdout_width()
    write_forms(
        lambda: first_line(record) if quiet else state_text(record, color=color, width=width),
        json=(json, lambda: to_json(record)),
    )
    return 0 if exit_zero else record.exit_code
