"""From an audit to a name in its record: faults, weakened ones, other constants, none at all.

Seeds are arbitrary and fixed. A correct sampler is accused, and then diagnosed, with a chance of
1e-6; a fault that failed is given another name, or none, with a chance of about 1e-6 a run, since
the nearest laws differ by a natural logarithm of more than 14 at these numbers of rounds.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from audit.diagnosis.handed import handed_law
from audit.exact.catalogue import RULES
from audit.exact.engine import block_law
from audit.exact.tables import joint_table
from audit.recordfile import read_record, write_record
from audit.run import AuditRun, run_audit
from audit.samplers.interface import StepBatch
from audit.samplers.rules import sampler_of
from audit.settings import Settings
from audit.verdict import Outcome
from tests.worlds import article, prefix_dependent

SMOKE = Settings(tier="smoke", seed=5)
CASES = ["basis-1", "basis-2"]


def audited(sampler: object, **more: object) -> AuditRun:
    """Returns the audit of a sampler on the two cases that tell faults apart best."""
    return run_audit(sampler, cases=CASES, settings=SMOKE, **more)  # type: ignore[arg-type]


def one_or_other(batch: StepBatch, generator: torch.Generator, *, one: str, share: float) -> Tensor:
    """Returns what a fault emits in a share of the rows, and the ratio rule in the others."""
    rows = [sampler_of(name)(batch, generator) for name in (one, "ratio")]
    coins = torch.rand(len(rows[0]), 1, generator=generator, device=rows[0].device)
    return torch.where(coins < share, *rows)


def weakened(batch: StepBatch, generator: torch.Generator) -> Tensor:
    """Follows a fault in a quarter of the rows."""
    return one_or_other(batch, generator, one="full-target-fallback", share=0.25)


def two_faults(batch: StepBatch, generator: torch.Generator) -> Tensor:
    """Follows one fault where the first drafted token is 0, and another one elsewhere."""
    one, other = (
        sampler_of(name)(batch, generator) for name in ("draft-fallback", "swapped-ratio")
    )
    return torch.where(batch.draft_token_ids[:, :1] == 0, one, other)


def neighbour(batch: StepBatch, generator: torch.Generator) -> Tensor:
    """Verifies every row against the target rows of the row before it."""
    mixed_up = batch._replace(target_probs=batch.target_probs.roll(1, dims=0))
    return sampler_of("ratio")(mixed_up, generator)


def test_a_fault_is_named_in_the_verdicts_and_in_the_record(tmp_path: Path) -> None:
    done = audited("fault:full-target-fallback")
    assert done.verdict.suspects[0] == "full-target-fallback"
    assert all(verdict.suspects == done.verdict.suspects for verdict in done.verdicts.values())
    (found,) = done.record.diagnoses
    assert (found.base, found.steps, found.cases) == ("ratio", ("recovered",), tuple(CASES))
    suspect = found.suspects[0]
    assert suspect.meaning == RULES["full-target-fallback"].meaning
    assert suspect.strength is suspect.constant is None
    write_record(done.record, tmp_path / "record.json")
    assert read_record(tmp_path / "record.json") == done.record


def test_the_figure_shows_what_the_suspect_would_emit() -> None:
    done = audited("fault:lenience@3/10", control="always-accept")
    case = done.record.cases[0]
    assert case.evidence is not None
    (suspect,) = done.record.diagnoses[0].suspects
    assert suspect.ids == ("lenience",)
    assert suspect.constant is not None
    assert suspect.constant.low <= 0.3 <= suspect.constant.high
    assert set(case.evidence.deviation.predictions) == {suspect.rule}  # not the control


def test_a_weakened_fault_is_named_with_its_strength() -> None:
    done = audited(weakened)
    assert done.verdict.suspects[0] == "full-target-fallback"
    strength = done.record.diagnoses[0].suspects[0].strength
    assert strength is not None
    assert strength.low < 0.25 < strength.high < 0.5


def test_what_the_catalogue_does_not_list_is_unlisted_but_localised() -> None:
    done = audited(two_faults)
    assert done.verdict.outcome is Outcome.FAIL
    assert done.verdict.suspects == ()
    (found,) = done.record.diagnoses
    assert found.suspects == ()
    assert found.fits == ()
    assert {"recovered", "accept"} <= set(found.steps)


def test_a_correct_sampler_has_no_diagnosis() -> None:
    done = audited("reference")
    assert done.verdict.outcome is Outcome.PASS
    assert done.verdict.suspects == ()
    assert done.record.diagnoses == ()


def test_another_rule_than_the_declared_one_is_named_as_the_rule_that_it_is() -> None:
    settings = Settings(tier="smoke", seed=5, declares=("ratio",))
    done = run_audit(sampler_of("sampler-match"), cases=CASES, settings=settings)
    assert done.verdict.outcome is Outcome.FAIL
    assert done.verdict.suspects == ()
    (found,) = done.record.diagnoses
    assert found.fits == ("sampler-match", "point-mass")
    assert found.base == "ratio"


def test_rows_that_change_places_are_told_by_the_calls_that_mix_cases() -> None:
    """With all rows alike nothing is wrong; the e-value finds the eighth that is mixed."""
    done = run_audit(neighbour, cases=["basis-1", "mirrored-two", "basis-2"], settings=SMOKE)
    assert done.verdict.outcome is Outcome.FAIL
    (found,) = done.record.diagnoses
    assert any(one.calls for one in found.departures)


def test_a_case_whose_drafts_are_not_observed_has_no_part() -> None:
    done = run_audit("fault:always-accept", cases=["zipf-1000"], settings=SMOKE)
    assert done.verdict.outcome is Outcome.FAIL
    assert done.record.diagnoses == ()


def test_trees_are_diagnosed_by_their_own_rules() -> None:
    done = run_audit("fault:siblings-sorted-by-draft", cases=["tree-basis"], settings=SMOKE)
    assert done.verdict.suspects[0] == "siblings-sorted-by-draft"
    assert done.record.diagnoses[0].base == "recursive-rejection"


@pytest.mark.parametrize("name", ["ratio", "second-try", "argmax-draft"])
def test_what_is_handed_over_is_independent_of_what_a_rule_drafts_for_itself(name: str) -> None:
    """Where no row depends on the prefix, the law is q times the law of the emitted blocks."""
    case, entry = article(2), RULES[name]
    blocks = block_law(case, entry)
    law = [part.reshape(9, -1) for part in np.split(handed_law(case, entry), [27, 108])]
    if name == "ratio":
        for part, table in zip(law, joint_table(case, entry), strict=True):
            np.testing.assert_array_equal(part, table)
        return
    q = np.array([0.5, 0.3, 0.2])
    for length, part in enumerate(law, start=1):
        expected = np.outer(np.outer(q, q), blocks.tables[length].floats())
        np.testing.assert_allclose(part, expected, atol=1e-15)


def test_handed_rows_decide_what_a_rule_emits_that_drafts_for_itself() -> None:
    """Every handed block has the share of its draft rows; `always-accept` keeps what is handed."""
    case = prefix_dependent(2)
    for name in ("second-try", "drafting-context-frozen"):
        law = np.split(handed_law(case, RULES[name]), [27, 108])
        by_block = sum(part.reshape(9, -1).sum(axis=1) for part in law)
        handed = [table.sum(axis=1) for table in joint_table(case, "always-accept")]
        np.testing.assert_allclose(by_block, sum(handed), atol=1e-12)
