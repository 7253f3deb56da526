"""The command line: click commands, one file a group, and no logic.

stdout carries the result, stderr the progress. A command module imports click only; what does
the work is imported when the command runs, so that `--help` stays fast.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from importlib import import_module

import click

from audit import __version__
from audit.cli.color import color_option
from audit.cli.exits import exit_code_of

COMMANDS = {
    "run": "run",
    "exact": "exact",
    "optimum": "optimum",
    "cases": "cases",
    "samplers": "samplers",
    "faults": "faults",
    "plan": "plan",
    "selftest": "selftest",
    "report": "report",
    "rerun": "run",
    "law": "law",
    "trace": "trace",
    "state": "state",
    "step": "step",
    "config": "config",
    "init": "init",
    "export": "export",
}


class LazyGroup(click.Group):
    """A group that imports a command's module only when the command is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Returns the command names, the main job first."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Returns the command of that name, or None."""
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = getattr(import_module(f"audit.cli.{COMMANDS[cmd_name]}"), cmd_name)
        return command


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="draftproof")
@color_option
def draftproof() -> None:
    """Audits speculative decoding samplers: do they preserve the target distribution?

    Every option can also be set by an environment variable: DRAFTPROOF_RUN_SEED=1 stands for
    `draftproof run --seed 1`.
    """


def execute(arguments: Sequence[str]) -> int:
    """Returns the exit code of the command line `draftproof ARGUMENTS...` after running it."""
    return exit_code_of(
        lambda: draftproof.main(
            list(arguments),
            prog_name="draftproof",
            standalone_mode=False,
            auto_envvar_prefix="DRAFTPROOF",
            obj=shlex.join(["draftproof", *arguments]),
        )
    )


def main() -> None:
    """Runs the command line of this process and exits."""
    sys.exit(execute(sys.argv[1:]))
