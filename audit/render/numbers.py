"""The numbers of a case that every machine-readable report carries, under the same names.

They are rounded to six significant digits, so that a report does not depend on the last bit of a
library's arithmetic.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from audit.evidence import Deviation, Evidence


class Numbers(NamedTuple):
    """What one case measured; the names are the columns of the CSV file.

    token: the first token whose share is farthest from the target's law, whether or not that
    means anything, or, of a large vocabulary, ratio_bin; intended and measured: its two shares.
    tv_null_mean: what a correct sampler shows on average. tv_bound: the certified U of
    sampled rounds. p_value: of Cressie and Read.
    """

    trials: int
    token: int | None
    ratio_bin: int | None
    intended: float | None
    measured: float | None
    tv: float
    tv_null_mean: float
    tv_bound: float | None
    p_value: float
    log10_e_value: float
    acceptance: float
    best_acceptance: float
    emitted_per_round: float
    smallest_detectable_tv: float | None
    trials_to_certify: int | None


def numbers(evidence: Evidence) -> Numbers:
    """Returns the numbers of a case that was counted."""
    view, acceptance = evidence.views[0], evidence.acceptance
    shown = evidence.deviation
    farthest, intended, measured = _farthest(shown, evidence.trials)
    return Numbers(
        trials=evidence.trials,
        token=None if shown.bins else farthest,
        ratio_bin=farthest if shown.bins else None,
        intended=rounded(intended),
        measured=rounded(measured),
        tv=_figure(view.total_variation.estimate),
        tv_null_mean=_figure(view.total_variation.null_mean),
        tv_bound=rounded(evidence.certified),
        p_value=_figure(view.cressie_read.p_value),
        log10_e_value=_figure(evidence.gate.log_e / math.log(10)),
        acceptance=_figure(acceptance.observed),
        best_acceptance=_figure(acceptance.best),
        emitted_per_round=_figure(acceptance.mean_emitted),
        smallest_detectable_tv=rounded(evidence.detectable),
        trials_to_certify=evidence.trials_needed,
    )


def _farthest(shown: Deviation, trials: int) -> tuple[int | None, float | None, float | None]:
    rows = zip(shown.tokens, shown.expected, shown.observed, strict=True)
    shares = [(token, law, seen / trials) for token, law, seen in rows]
    return max(shares, key=lambda row: abs(row[2] - row[1]), default=(None, None, None))


def _figure(value: float) -> float:
    return float(f"{value:.6g}")


def rounded(value: float | None) -> float | None:
    """Returns a number to six significant digits, None where there is none."""
    return None if value is None else _figure(value)
