"""Faults of verifying siblings that were drawn independently of each other."""

from __future__ import annotations

from functools import partial

from audit.exact.rule import Rule
from audit.exact.trees import recursive_steps as steps
from audit.exact.trees.longest import longest_path
from audit.exact.trees.recursive import WITHOUT, Recursive
from audit.exact.trees.walk import Walk

_fault = partial(
    Rule, family="fault", gate=True, trees=("independent",), base="recursive-rejection"
)

ENTRIES = (
    _fault(
        id="siblings-target-not-updated",
        meaning="tests every sibling against the whole target row, then draws from the residual",
        formula="m + R p for the first token at two siblings",
        happens="the target row is not replaced by its residual after a rejection",
        law=Walk(Recursive(tested=steps.original, last=steps.first_residual)),
        code="T01",
    ),
    _fault(
        id="siblings-target-not-updated-full-target",
        meaning="tests every sibling against the whole target row, then draws from that row",
        formula="m + R m + R^2 p for the first token at two siblings",
        happens="the target row is neither updated between siblings nor reduced at the end",
        law=Walk(Recursive(tested=steps.original, last=steps.original)),
        code="T02",
    ),
    _fault(
        id="independent-draft-masked",
        meaning="takes rejected tokens out of the draft row although siblings may repeat",
        formula="q becomes q without c, normalised, while the next sibling still comes from q",
        happens="the rule for siblings drawn without replacement is applied to independent ones",
        law=Walk(WITHOUT),
        code="T04",
    ),
    _fault(
        id="siblings-full-target-fallback",
        meaning="draws from the whole target row when no sibling is accepted",
        formula="p_k, what k rejections leave of p, is replaced by p in the last draw",
        happens="the row is restored, or read again, after the loop over the siblings",
        law=Walk(Recursive(last=steps.original)),
        code="T05",
    ),
    _fault(
        id="siblings-first-residual",
        meaning="draws from the first residual when no sibling is accepted",
        formula="max(p - q, 0), normalised, however many siblings were rejected",
        happens="the fallback of a single draft is kept when a second sibling is added",
        law=Walk(Recursive(last=steps.first_residual)),
        code="T07",
    ),
    _fault(
        id="repeated-sibling-skipped",
        meaning="skips a sibling that repeats a rejected token, without updating the target row",
        formula="p is left as it is at the second of two equal siblings",
        happens="duplicates are removed before verification to save work",
        law=Walk(Recursive(left=steps.left_once)),
        code="T09",
    ),
    _fault(
        id="siblings-sorted-by-target",
        meaning="tests the siblings by falling target probability",
        formula="the sibling with the largest p is tested first",
        happens="candidates are ranked before verification, so that they are no draws from q",
        law=Walk(steps.in_order_of(steps.target_row, Recursive())),
        code="T10",
    ),
    _fault(
        id="siblings-sorted-by-draft",
        meaning="tests the siblings by falling draft probability",
        formula="the sibling with the largest q is tested first",
        happens="a top-k call returns sampled candidates in sorted order",
        law=Walk(steps.in_order_of(steps.draft_row, Recursive())),
        code="T11",
    ),
    _fault(
        id="siblings-one-coin",
        meaning="tests all siblings of a node with one uniform",
        formula="sibling j passes with max(0, a_j - the largest earlier a)",
        happens="one uniform is drawn a position, not one a drafted token",
        law=Walk(Recursive(coins=steps.one_coin)),
        code="T19",
    ),
    _fault(
        id="last-sibling-decides",
        meaning="tests the last sibling and emits the first one",
        formula="q A + R r for the first token",
        happens="the loop over siblings overwrites the result of the test and not the token",
        law=Walk(steps.last_test_decides),
        code="T21",
    ),
    _fault(
        id="longest-accepted-path",
        meaning="verifies every path on its own and keeps the longest accepted one",
        formula="m + R p for the first token of two paths of one token",
        happens="beams are verified as if each were the only draft, and the best is taken",
        law=longest_path,
        reports=("ml-recurrent-drafter #6",),
        code="T22",
    ),
)
