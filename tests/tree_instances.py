"""The instances of the algorithm page with draft trees (sections 2 and 4), under its names."""

from __future__ import annotations

from dataclasses import replace

from exact_instances import context_free

from audit.case import Case
from audit.tree import ROOT, Drafting, Tree

PAIR = (ROOT, ROOT)
TWO_PATHS = (ROOT, ROOT, 0, 1)  # the page's [2,1]
TWO_LEVELS = (ROOT, ROOT, 0, 0, 1, 1)  # the page's [2,2]
EARLY_LEAF = (ROOT, ROOT, 0)
DRAFTINGS: tuple[Drafting, ...] = ("independent", "distinct", "fixed")


def drafted_as(case: Case, parents: tuple[int, ...], drafting: Drafting) -> Case:
    """Returns the case with a draft tree in place of its chain."""
    tree = Tree(parents, drafting)
    return replace(case, tree=tree, num_speculative_tokens=tree.depth)


def siblings(target: str, draft: str, *, drafting: Drafting, count: int = 2) -> Case:
    """Returns the case of `count` siblings of one token and rows that no prefix changes."""
    return drafted_as(context_free(1, target, draft), (ROOT,) * count, drafting)


def seed_siblings(drafting: Drafting, count: int = 2) -> Case:
    """SEED with siblings of one token."""
    return siblings("1/5 1/2 3/10", "1/2 3/10 1/5", drafting=drafting, count=count)


def v4(drafting: Drafting, count: int = 2) -> Case:
    """V4 with siblings of one token."""
    return siblings("1/10 2/5 3/10 1/5", "2/5 1/10 1/5 3/10", drafting=drafting, count=count)


def tr1(drafting: Drafting) -> Case:
    """TR1, the instance on which every wrong rule for two siblings shows."""
    return siblings("1/2 1/10 1/10 3/10", "2/5 3/10 1/5 1/10", drafting=drafting)
