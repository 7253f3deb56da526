"""Records of other commands than `run`, shown again: as text or JSON, of a step as a page too."""

from __future__ import annotations

from collections.abc import Collection
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from audit.cli.color import stdout_color
from audit.cli.output import Outputs, stdout_width, write_forms
from audit.errors import UsageError
from audit.recordfile import validated

_ALL = ("record", "json", "quiet")


class _Form(NamedTuple):
    """The class of a command's record, its text and first line, and which more options it takes."""

    record: str
    text: str
    line: str
    more: tuple[str, ...] = ()


_FORMS = {
    "state": _Form(
        "audit.state.record:StateRecord",
        "audit.render.state:state_text",
        "audit.render.state:first_line",
    ),
    "step": _Form(
        "audit.stepping.record:StepRecord",
        "audit.render.step:step_text",
        "audit.render.step:first_line",
        ("html",),
    ),
    "law": _Form(
        "audit.lawrecord:LawRecord",
        "audit.render.law:law_text",
        "audit.render.law:law_line",
        ("verbose",),
    ),
    "trace": _Form(
        "audit.tracerecord:TraceRecord",
        "audit.render.trace:trace_text",
        "audit.render.trace:trace_line",
    ),
}
_PAGE = "audit.render.step_page:step_page"


def show_other(
    command: str, data: Any, path: Path, outputs: Outputs, *, stated: Collection[str]
) -> None:
    """Shows the record of a command, the data of a file; `stated`: the options on the command line.

    Raises: UsageError where the data are no such record, or it has no such form.
    """
    form = _FORMS[command]
    for option in stated:
        if option not in (*_ALL, *form.more):
            raise UsageError(
                f"{path} is a record of `draftproof {command}`, for which there is no "
                f"--{option.replace('_', '-')}; it is shown as text or --json."
            )
    record = validated(_named(form.record), data, path)
    more = {"verbose": outputs.verbose} if "verbose" in form.more else {}
    color, width = stdout_color(), stdout_width()
    write_forms(
        lambda: (
            _named(form.line)(record)
            if outputs.quiet
            else _named(form.text)(record, color=color, width=width, **more)
        ),
        quiet=outputs.quiet,
        json=(outputs.json, lambda: _named(f"{form.record.partition(':')[0]}:to_json")(record)),
        html=(outputs.html, lambda: _named(_PAGE)(record)),
    )


def _named(place: str) -> Any:
    """Returns the object of a `module:name`, whose module is imported only now."""
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)
