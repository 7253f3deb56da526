"""A finding as a script for a bug report: it needs torch and the sampler, and no draftproof."""

from __future__ import annotations

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from audit import __version__
from audit.case import Case, Rows
from audit.errors import CaseError, UsageError
from audit.render.plain import clean
from audit.resources import reports_dir
from audit.samplers.interface import LoadedSampler
from audit.tree import Tree

TEMPLATE = "reproduction.py.j2"
MOST_ROWS = 1_000  # a call
MOST_BLOCKS = 100_000  # completed blocks that a script adds up


def export_script(
    case: Case, sampler: LoadedSampler, *, rounds: int = 100_000, seed: int = 0
) -> str:
    """Returns a Python script that shows whether the sampler is biased on the case.

    Raises: UsageError where a script could not call the sampler, or not add up the case.
    """
    _refuse(case, sampler)
    place, _, name = sampler.name.rpartition(":")
    most = min(sampler.facts.max_batch or MOST_ROWS, MOST_ROWS, rounds)
    gamma = case.num_speculative_tokens
    environment = Environment(
        loader=FileSystemLoader(reports_dir()),
        undefined=StrictUndefined,
        trim_blocks=True,
        keep_trailing_newline=True,
    )  # the output is Python: everything from outside stands there as a literal or in a comment
    return environment.get_template(TEMPLATE).render(
        title=f"draftproof {__version__}, case {clean(case.id, 80)}: {clean(case.why, 300)}",
        case=case,
        place=ascii(place),
        name=ascii(name),
        is_file=place.endswith(".py"),
        drafting=case.drafting,
        rounds=rounds,
        rows=most if sampler.facts.independent_rows else 1,
        seed=seed,
        parents=(case.tree or Tree.chain(gamma)).parents,
        tables={
            "TARGET": _table(case, case.target, gamma),
            "DRAFT": _table(case, case.draft, gamma - 1),
        },
    )


def _refuse(case: Case, sampler: LoadedSampler) -> None:
    place, colon, _ = sampler.name.rpartition(":")
    if not colon or place in ("rule", "fault"):
        raise UsageError(
            f"{sampler.name} is a part of draftproof, which a script of its own cannot call; give "
            "--sampler module:object or path.py:object."
        )
    blocks = case.vocab_size ** (case.num_speculative_tokens + 1)
    if blocks > MOST_BLOCKS:
        raise UsageError(
            f"case {case.id} has {blocks:,} completed blocks, above the bound of {MOST_BLOCKS:,}; "
            "export a smaller one (`draftproof faults matrix` tells which cases see a fault)."
        )


def _table(case: Case, rows: Rows, longest: int) -> dict[tuple[int, ...], str]:
    """Returns the rows by prefix as fractions in Python; a prefix without a row is left out."""
    found = {}
    for length in range(1 if case.context_free else longest + 1):
        for prefix in case.prefixes(length):
            try:
                found[prefix] = ", ".join(map(str, rows[prefix]))
            except CaseError:
                continue
    return found
