"""Random numbers that decide more than one thing, read off the map.

In a correct sampler a number decides one test, or draws one token. One that does both, or decides
two tests, ties together what must be independent.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from fractions import Fraction

from audit.steering.blocks import EXCEPTION
from audit.steering.map import Node, Split
from audit.steering.probing import Prober

Lengths = Mapping[int, Mapping[tuple[int, ...], Fraction]]


def used_twice(prober: Prober, maps: Mapping[int, Node]) -> tuple[str, ...]:
    """Returns what the sampler does by each number that some block uses for several decisions."""
    found: dict[str, None] = {}
    if prober.blocks.case.tree is not None:
        return ()
    for top in maps.values():
        for node in top.nodes():
            if isinstance(node, Split) and len(node.children) > 2:
                says = _said(prober, node)
                found |= {says: None} if says else {}
    return tuple(found)


def _said(prober: Prober, node: Split) -> str:
    by_child = [_by_length(prober, child) for child in node.children]
    tests = [n for n in range(1, prober.blocks.gamma + 1) if _decides(by_child, n)]
    draws = _draws(by_child)
    unit = prober.layout.by_column[node.column]
    number = f"number {node.column - unit.start + 1} of {unit.name}"
    if len(tests) > 1:
        return f"decides the tests of {len(tests)} drafted tokens by one number, {number}"
    if tests and draws:
        return f"tests drafted token {tests[0]} and draws what replaces it by one number, {number}"
    return ""


def _by_length(prober: Prober, node: Node) -> Lengths:
    found: dict[int, dict[tuple[int, ...], Fraction]] = defaultdict(dict)
    for code, mass in node.law.items():
        outcome = () if code == EXCEPTION else prober.blocks.outcome(code)
        found[len(outcome)][outcome] = mass
    return found


def _decides(by_child: list[Lengths], length: int) -> bool:
    """Returns whether children differ, for certain, in going on beyond `length` tokens."""
    beyond = []
    for lengths in by_child:
        there = sum((sum(m.values()) for n, m in lengths.items() if n >= length), Fraction(0))
        after = sum((sum(m.values()) for n, m in lengths.items() if n > length), Fraction(0))
        beyond += [after / there] if there else []
    return {Fraction(0), Fraction(1)} <= set(beyond)


def _draws(by_child: list[Lengths]) -> bool:
    """Returns whether two children emit equally many tokens, but for certain others."""
    certain = [next(iter(n.values())) for n in by_child if len(n) == 1]
    only = [next(iter(masses)) for masses in certain if len(masses) == 1]
    return any(len(a) == len(b) and a != b and a[:-1] == b[:-1] for a in only for b in only)
