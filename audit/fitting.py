"""Whether sampler, cases and rules fit each other: all must be about drafts of the same shape."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from audit.case import Case
from audit.errors import UsageError
from audit.exact.catalogue import rule, verifies
from audit.samplers.interface import LoadedSampler
from audit.selection import select_cases
from audit.tree import Drafting, drafts_called


def cases_for(sampler: LoadedSampler, given: Sequence[str | Case]) -> list[Case]:
    """Returns the cases that are named or given for a sampler, in their order.

    Empty: the shipped small ones, or those with trees that it takes.

    Raises: UsageError where two have the same id, or one drafts what the sampler does not take.
    """
    words = [case for case in given if isinstance(case, str)]
    ready = [case for case in given if isinstance(case, Case)]
    drafts = sampler.facts.drafts
    chosen = [*ready, *(select_cases(words, drafts=drafts) if words or not ready else [])]
    twice = [case.id for case in chosen if sum(other.id == case.id for other in chosen) > 1]
    if twice:
        raise UsageError(f"two of the selected cases have the id {twice[0]!r}; rename one of them.")
    for case in chosen:
        if case.drafting not in drafts:
            raise UsageError(_misfit(case, sampler))
    return chosen


def _misfit(case: Case, sampler: LoadedSampler) -> str:
    """Returns the sentence on a case that drafts what the sampler does not take."""
    takes = sampler.facts.drafts
    group = "small" if None in takes else "trees"
    return (
        f"case {case.id} drafts {drafts_called(case.drafting)}, but {sampler.name} takes "
        f"{_called(takes)}; select other cases (--cases {group} are the shipped ones), or say in "
        "its `draftproof` attribute which trees it takes."
    )


def check_rules(names: Iterable[str], cases: Sequence[Case], *, role: str) -> None:
    """Raises UsageError for a rule that is unknown or verifies the drafts of none of the cases.

    role: what the rule is to the run, "control" or "declared rule".
    """
    for entry in map(rule, names):
        if not any(verifies(entry, case) for case in cases):
            drafted = dict.fromkeys(case.drafting for case in cases)
            raise UsageError(
                f"{role} {entry.id} verifies {_called(entry.trees or (None,))}, but the selected "
                f"cases draft {_called(drafted)}; choose another rule or other cases."
            )


def _called(drafts: Iterable[Drafting | None]) -> str:
    return " or ".join(map(drafts_called, drafts))
