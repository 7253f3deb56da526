"""`config show`: what `run` would take, and where each value comes from."""

from __future__ import annotations

import click
from click.core import ParameterSource

from audit.cli.color import color_option, stdout_color
from audit.cli.configuration import config_of
from audit.cli.output import emit, stdout_width

USUAL_METHOD = "both; sampled in tier smoke and with samples or limit"


@click.group()
def config() -> None:
    """Shows the configuration."""


@config.command(context_settings={"ignore_unknown_options": True})
@click.argument("options", nargs=-1, type=click.UNPROCESSED)
@color_option
@click.pass_context
def show(ctx: click.Context, options: tuple[str, ...]) -> None:
    """Shows each value that `draftproof run [OPTIONS]` would take, and where it comes from."""
    from audit.cli.run import run
    from audit.config import General
    from audit.render.configuration import configuration_text

    with run.make_context("run", list(options), parent=ctx.find_root()) as inner:
        found = config_of(inner)
        rows = [(name, _value(inner, name), _source(inner, name)) for name in General.model_fields]
    emit(configuration_text(found, rows, color=stdout_color(), width=stdout_width()))


def _value(ctx: click.Context, name: str) -> object:
    """Returns a value of `run`, in words where it depends on others."""
    value = ctx.params[name]
    return USUAL_METHOD if name == "method" and value is None else value


def _source(ctx: click.Context, name: str) -> str:
    """Returns the flag, variable or file that a value of `run` comes from, or "default"."""
    found = config_of(ctx)
    match ctx.get_parameter_source(name):
        case ParameterSource.COMMANDLINE:
            return f"--{name.replace('_', '-')}"
        case ParameterSource.ENVIRONMENT:
            return f"{ctx.auto_envvar_prefix}_{name.upper()}"
        case ParameterSource.DEFAULT_MAP if found is not None:
            return str(found.path)
        case _:
            return "default"
