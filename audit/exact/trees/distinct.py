"""Faults of verifying siblings that differ: drawn without replacement, or fixed."""

from __future__ import annotations

from functools import partial

from audit.exact.rule import Rule
from audit.exact.trees import recursive_steps as steps
from audit.exact.trees.recursive import WITHOUT, Recursive, without_rejected
from audit.exact.trees.walk import Walk

_fault = partial(
    Rule, family="fault", gate=True, trees=("distinct",), base="recursive-rejection-distinct"
)
_without = partial(Recursive, spent=without_rejected)

ENTRIES = (
    _fault(
        id="distinct-draft-unnormalised",
        meaning="takes rejected tokens out of the draft row and does not normalise it again",
        formula="q becomes q without c",
        happens="the mask is applied to probabilities and the division is forgotten",
        law=Walk(Recursive(spent=steps.masked)),
        code="T03",
    ),
    _fault(
        id="distinct-full-target-fallback",
        meaning="draws from the whole target row when no sibling is accepted",
        formula="p_k, what k rejections leave of p, is replaced by p in the last draw",
        happens="the row is restored, or read again, after the loop over the siblings",
        law=Walk(_without(last=steps.original)),
        code="T06",
    ),
    _fault(
        id="distinct-first-residual",
        meaning="draws from the first residual when no sibling is accepted",
        formula="max(p - q, 0), normalised, however many siblings were rejected",
        happens="the fallback of a single draft is kept when a second sibling is added",
        law=Walk(_without(last=steps.first_residual)),
        code="T08",
    ),
    _fault(
        id="distinct-sorted-by-draft",
        meaning="tests siblings drawn without replacement by falling draft probability",
        formula="the sibling with the largest q is tested first",
        happens="a top-k call returns sampled candidates in sorted order",
        law=Walk(steps.in_order_of(steps.draft_row, WITHOUT)),
        code="T12",
    ),
    _fault(
        id="fixed-drafts-ratio-tested",
        meaning="tests the most probable tokens of the draft row as if they were draws from it",
        formula="min(1, p/q) where the token is certain",
        happens="drafting is changed to top-k and the verifier keeps its ratio test",
        law=Walk(WITHOUT),
        trees=("fixed",),
        base="target-only",
        code="T13",
    ),
    _fault(
        id="distinct-target-without-rejected",
        meaning="draws from the target row without the siblings when none is accepted",
        formula="p without c_1, ..., c_k, normalised",
        happens="the fallback of fixed drafts is used after ratio tests",
        law=Walk(_without(last=steps.target_without_tokens)),
        code="T18",
    ),
    _fault(
        id="distinct-one-coin",
        meaning="tests all siblings of a node, drawn without replacement, with one uniform",
        formula="sibling j passes with max(0, a_j - the largest earlier a)",
        happens="one uniform is drawn a position, not one a drafted token",
        law=Walk(_without(coins=steps.one_coin)),
        code="T20",
    ),
    _fault(
        id="bonus-from-first-path",
        meaning="takes the bonus token from the target row of the first path",
        formula="the row after the first node of the level instead of the accepted leaf's",
        happens="target rows are indexed by position, as in a chain, and not by node",
        law=Walk(WITHOUT, bonus=steps.row_after_first_path),
        reports=("TensorRT-LLM #15098",),
        code="T23",
    ),
)
