"""StepBatches made straight from a case, without the harness, for the tests of samplers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import torch

from audit.case import Case, Rows
from audit.counts import Outcome
from audit.samplers.interface import StepBatch
from audit.statistics.binomial import upper_tail

Table = torch.Tensor  # float64 [vocab ** length, vocab]: the row of every prefix of a length


def table(case: Case, rows: Rows, length: int) -> Table:
    """Returns the rows of all prefixes of `length` tokens, by code."""
    by_code = [rows[prefix].floats().tolist() for prefix in case.prefixes(length)]
    return torch.tensor(by_code, dtype=torch.float64)


def step_batch(
    case: Case, rows: int, generator: torch.Generator, dtype: torch.dtype = torch.float64
) -> StepBatch:
    """Returns independent drafts of a case with the target and draft rows along them."""
    code = torch.zeros(rows, dtype=torch.int64)
    tokens = []
    for i in range(case.num_speculative_tokens):
        row = table(case, case.draft, i)[code]
        tokens.append(torch.multinomial(row, 1, generator=generator).squeeze(1))
        code = code * case.vocab_size + tokens[-1]
    return batch_along(case, torch.stack(tokens, 1), dtype)


def batch_along(case: Case, tokens: torch.Tensor, dtype: torch.dtype = torch.float64) -> StepBatch:
    """Returns these drafts [rows, gamma] with the target and draft rows along them."""
    rows, gamma = tokens.shape
    code = torch.zeros(rows, dtype=torch.int64)
    draft, target = [], [table(case, case.target, 0)[code]]
    for i in range(gamma):
        draft.append(table(case, case.draft, i)[code])
        code = code * case.vocab_size + tokens[:, i]
        target.append(table(case, case.target, i + 1)[code])
    return StepBatch(
        tokens,
        torch.stack(draft, 1).to(dtype),
        torch.stack(target, 1).to(dtype),
        torch.full((rows,), gamma),
    )


def outcomes(tokens: torch.Tensor) -> Counter[Outcome]:
    """Returns how often each emitted block occurs; () for empty rows."""
    base, width = int(tokens.max()) + 2, tokens.shape[1]
    codes = (tokens + 1) @ base ** torch.arange(width)
    seen: Counter[Outcome] = Counter()
    for code, times in enumerate(codes.bincount().tolist()):
        if times:
            row = [code // base**i % base - 1 for i in range(width)]
            seen[tuple(token for token in row if token >= 0)] += times
    return seen


def follows(seen: Mapping[Outcome, int], law: Mapping[Outcome, float], level: float) -> bool:
    """Returns whether smallest_p exceeds the level; the largest deviation decides most cases."""
    n = sum(seen.values())
    cells = set(seen) | set(law)

    def deviation(cell: Outcome) -> float:
        p = law.get(cell, 0.0)
        return abs(seen.get(cell, 0) - n * p) / max(n * p * (1 - p), 1e-9) ** 0.5

    widest = max(cells, key=deviation)
    if len(cells) * two_sided_p(seen.get(widest, 0), n, law.get(widest, 0.0)) <= level:
        return False
    return smallest_p(seen, law) > level


def smallest_p(seen: Mapping[Outcome, int], law: Mapping[Outcome, float]) -> float:
    """Returns the smallest two-sided binomial p-value over all outcomes, times their number.

    Exact and conservative (Bonferroni): under the law it is below x with probability at most x.
    """
    n = sum(seen.values())
    cells = set(seen) | set(law)
    return len(cells) * min(two_sided_p(seen.get(c, 0), n, law.get(c, 0.0)) for c in cells)


def two_sided_p(k: int, n: int, p: float) -> float:
    """Returns twice the smaller binomial tail at k, at most 1."""
    return min(1.0, 2 * upper_tail(k, n, p), 2 * upper_tail(n - k, n, 1 - p))
