"""Rules of draft trees as ordinary sampling programs, for the oracle to enumerate by replay.

They follow the prose of the rules and share nothing with the engine. What becomes of the siblings
at one node is (index of the accepted one, None) or (None, weights of the last draw).
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial

from exact_oracle import ONE, Program, Tape, Weights, clip, p, positive_part, q, replayed

from audit.case import Case
from audit.tree import ROOT

Fate = tuple[int | None, Weights | None]
Siblings = Callable[[Tape, Weights, Weights, list[int]], Fate]


def law_of(rule_id: str, case: Case) -> dict[tuple[int, ...], Fraction]:
    """Returns the exact law of the drafted tokens of all nodes and the emitted block after them."""

    def run(tape: Tape) -> list[int]:
        tokens = draft_tree(tape, case)
        return [*tokens, *PROGRAMS[rule_id](tape, case, tokens)]

    return replayed(run)


def draft_tree(tape: Tape, case: Case) -> list[int]:
    """Drafts the tokens of all nodes."""
    tree, tokens = case.tree, list[int]()
    assert tree is not None
    for node, parent in enumerate(tree.parents):
        elder = [tokens[i] for i in tree.children(parent) if i < node]
        row = q(case, path_tokens(case, tokens, parent))
        if tree.drafting == "distinct":
            row = without(row, elder)
        if tree.drafting == "fixed":
            ranked = sorted(range(len(row)), key=lambda x: (-row[x], x))
            row = [ONE * (x == ranked[len(elder)]) for x in range(len(row))]
        tokens.append(tape.draw(row))
    return tokens


def path_tokens(case: Case, tokens: list[int], node: int) -> list[int]:
    assert case.tree is not None
    return [tokens[i] for i in case.tree.path(node)]


def without(row: Weights, tokens: list[int]) -> list:  # type: ignore[type-arg]
    return [0 if x in tokens else value for x, value in enumerate(row)]


def normalised(row: Weights) -> list:  # type: ignore[type-arg]
    total = sum(row)
    return [value / total if total else 0 for value in row]


def walk(tape: Tape, case: Case, tokens: list[int], *, fate: Siblings, first=False) -> list[int]:  # type: ignore[no-untyped-def]
    """Goes down the tree; `first` takes the bonus row of the first node of the leaf's level."""
    tree, node = case.tree, ROOT
    assert tree is not None
    while children := tree.children(node):
        path = path_tokens(case, tokens, node)
        n, weights = fate(tape, p(case, path), q(case, path), [tokens[i] for i in children])
        if n is None:
            assert weights is not None
            return [*path, tape.draw(weights)]
        node = children[n]
    level = [i for i in range(tree.nodes) if len(tree.path(i)) == len(tree.path(node))]
    row = p(case, path_tokens(case, tokens, level[0] if first else node))
    return [*path_tokens(case, tokens, node), tape.draw(row)]


def recursive(  # type: ignore[no-untyped-def]
    tape, p, q, xs, *, removes=False, renormalises=True, tested="now", last="now", skips=False
) -> Fate:
    rows, draft = [p], q
    for j, x in enumerate(xs):
        row = p if tested == "start" else rows[-1]
        if tape.coin(clip(row[x], draft[x])):
            return j, None
        left = normalised(positive_part(rows[-1], draft))
        rows.append(rows[-1] if skips and x in xs[:j] else left)
        if removes:
            draft = without(draft, [x])
            draft = normalised(draft) if renormalises else draft
    return None, {"now": rows[-1], "start": p, "first": rows[1], "without": without(p, xs)}[last]


def one_coin(tape, p, q, xs, *, removes=False) -> Fate:  # type: ignore[no-untyped-def]
    rows, draft, tests = [p], q, []
    for x in xs:
        tests.append(clip(rows[-1][x], draft[x]))
        rows.append(normalised(positive_part(rows[-1], draft)))
        draft = normalised(without(draft, [x])) if removes else draft
    u = tape.uniform(0 * ONE, ONE, tests)
    passed = [j for j, test in enumerate(tests) if u < test]
    return (passed[0], None) if passed else (None, rows[-1])


def in_order(tape, p, q, xs, *, of, **options) -> Fate:  # type: ignore[no-untyped-def]
    row = {"p": p, "q": q}[of]
    order = sorted(range(len(xs)), key=lambda j: -row[xs[j]])
    n, weights = recursive(tape, p, q, [xs[j] for j in order], **options)
    return (None if n is None else order[n]), weights


def last_decides(tape, p, q, xs) -> Fate:  # type: ignore[no-untyped-def]
    accepted = tape.coin(clip(p[xs[-1]], q[xs[-1]]))
    return (0, None) if accepted else (None, positive_part(p, q))


def target_only(tape, p, q, xs, *, acc=ONE, single=ONE) -> Fate:  # type: ignore[no-untyped-def]
    marks = [sum(p[x] for x in xs[: j + 1]) / acc for j in range(len(xs))]
    u = tape.uniform(0 * ONE, ONE, marks)
    for j, x in enumerate(xs):
        if u < marks[j] or p[x] >= single:
            return j, None
    return None, without(p, xs)


def one_after_another(tape, p, q, xs, *, full=False) -> Fate:  # type: ignore[no-untyped-def]
    """Accepts with p(c), else zeroes c and renormalises."""
    row = p
    for j, x in enumerate(xs):
        if sum(row) and tape.coin(row[x] / sum(row)):
            return j, None
        row = without(row, [x])
    return None, p if full else row


def match(tape, p, q, xs) -> Fate:  # type: ignore[no-untyped-def]
    y = tape.draw(p)
    return (xs.index(y), None) if y in xs else (None, [ONE * (x == y) for x in range(len(p))])


def k_seq(tape, p, q, xs, *, rho) -> Fate:  # type: ignore[no-untyped-def]
    c = rho(len(xs))
    for j, x in enumerate(xs):
        if tape.coin(clip(p[x], c * q[x])):
            return j, None
    each = [min(b, a / c) for a, b in zip(p, q, strict=True)]
    b = sum(each)
    share = (1 - (1 - b) ** len(xs)) / b if b else 0
    return None, positive_part(p, [share * value for value in each])


def longest(tape: Tape, case: Case, tokens: list[int]) -> list[int]:
    tree, alive = case.tree, {ROOT: True}
    assert tree is not None
    for node, parent in enumerate(tree.parents):
        path, x = path_tokens(case, tokens, parent), tokens[node]
        passes = tape.coin(clip(p(case, path)[x], q(case, path)[x]))
        alive[node] = alive[parent] and passes
    best = max((node for node in alive if alive[node]), key=lambda node: len(tree.path(node)))
    path = path_tokens(case, tokens, best)
    row = p(case, path)
    return [*path, tape.draw(positive_part(row, q(case, path)) if tree.children(best) else row)]


def traversal(tape: Tape, case: Case, tokens: list[int], *, update="right") -> list[int]:  # type: ignore[no-untyped-def]
    """Deletes one leaf after another, as the rule is told, until a path is accepted."""
    tree = case.tree
    assert tree is not None
    left = {node: list(tree.children(node)) for node in range(ROOT, tree.nodes)}
    M = {node: p(case, path_tokens(case, tokens, node)) for node in left}
    Q = {v: q(case, path_tokens(case, tokens, v)) if left[v] else [] for v in left}
    scale: dict[int, object] = {ROOT: ONE}  # P of nodes that lost a leaf, or the root

    def chance(node):  # type: ignore[no-untyped-def]
        if node not in scale:
            v, x = tree.parents[node], tokens[node]
            return clip(chance(v) * M[v][x], Q[v][x])
        return scale[node]

    while left[ROOT]:
        leaf = ROOT
        while left[leaf]:
            leaf = left[leaf][0]
        if tape.coin(chance(leaf)):
            return [*path_tokens(case, tokens, leaf), tape.draw(M[leaf])]
        v, x = tree.parents[leaf], tokens[leaf]
        P, rest = chance(v), without(Q[v], [x])
        excess = positive_part([P * value for value in M[v]], Q[v])
        S = sum(excess)
        right = S / (S + 1 - P) if S + 1 - P else ONE
        scale[v] = {"right": right, "ratio": clip(S, sum(rest)), "none": P}[update]
        M[v] = normalised(excess) if S else p(case, path_tokens(case, tokens, v))
        Q[v] = normalised(rest)
        left[v].remove(leaf)
    return [tape.draw(M[ROOT])]


def _walks(fate: Siblings, **options: object) -> Program:
    return partial(walk, fate=partial(fate, **options))


DISTINCT = {"removes": True}
PROGRAMS: dict[str, Program] = {
    "recursive-rejection": _walks(recursive),
    "recursive-rejection-distinct": _walks(recursive, **DISTINCT),
    "target-only": _walks(one_after_another),
    "tree-sampler-match": _walks(match),
    "k-seq": _walks(k_seq, rho=lambda k: k * ONE),
    "traversal": traversal,
    "siblings-target-not-updated": _walks(recursive, tested="start", last="first"),
    "siblings-target-not-updated-full-target": _walks(recursive, tested="start", last="start"),
    "distinct-draft-unnormalised": _walks(recursive, removes=True, renormalises=False),
    "independent-draft-masked": _walks(recursive, **DISTINCT),
    "siblings-full-target-fallback": _walks(recursive, last="start"),
    "distinct-full-target-fallback": _walks(recursive, last="start", **DISTINCT),
    "siblings-first-residual": _walks(recursive, last="first"),
    "distinct-first-residual": _walks(recursive, last="first", **DISTINCT),
    "repeated-sibling-skipped": _walks(recursive, skips=True),
    "siblings-sorted-by-target": _walks(in_order, of="p"),
    "siblings-sorted-by-draft": _walks(in_order, of="q"),
    "distinct-sorted-by-draft": _walks(in_order, of="q", **DISTINCT),
    "fixed-drafts-ratio-tested": _walks(recursive, **DISTINCT),
    "k-seq-rho-too-small": _walks(k_seq, rho=lambda k: ONE),
    "repeated-sibling-counted-twice": _walks(target_only),
    "tree-threshold-acc": _walks(target_only, acc=4 * ONE / 5),
    "tree-threshold-single": _walks(target_only, single=2 * ONE / 5),
    "distinct-target-without-rejected": _walks(recursive, last="without", **DISTINCT),
    "siblings-one-coin": _walks(one_coin),
    "distinct-one-coin": _walks(one_coin, **DISTINCT),
    "last-sibling-decides": _walks(last_decides),
    "longest-accepted-path": longest,
    "bonus-from-first-path": partial(walk, fate=partial(recursive, removes=True), first=True),
    "fixed-full-target-fallback": _walks(one_after_another, full=True),
    "traversal-ratio-update": partial(traversal, update="ratio"),
    "traversal-without-update": partial(traversal, update="none"),
}
