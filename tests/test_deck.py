"""Device tables agree with the rows of the case, prefix by prefix."""

import numpy as np
import torch

from audit.harness.deck import deck_of
from audit.harness.null import handed_over
from tests.worlds import article, prefix_dependent

CPU = torch.device("cpu")


def deck(*cases, dtype=torch.float64):
    return deck_of([handed_over(case, dtype) for case in cases], dtype=dtype, device=CPU)


def test_every_prefix_stands_at_its_index():
    case = prefix_dependent(2)
    tables = deck(case)
    for length in range(3):
        for code, prefix in enumerate(case.prefixes(length)):
            index = int(tables.prefix_index(length, torch.tensor(code)))
            assert tables.target_rows[0, index].tolist() == case.target[prefix].floats().tolist()


def test_cumulative_rows_end_at_exactly_one():
    tables = deck(prefix_dependent(3), dtype=torch.float32)
    assert bool((tables.target_cumulative[..., -1] == 1.0).all())
    assert bool((tables.target_cumulative.diff(dim=-1) >= 0).all())


def test_a_context_free_case_has_a_single_prefix():
    tables = deck(article())
    assert tables.context_free
    assert tables.target_rows.shape == (1, 1, 3)
    assert int(tables.prefix_index(2, torch.tensor(5))) == 0


def test_cases_of_unequal_gamma_share_a_deck():
    tables = deck(article(1), prefix_dependent(3))
    assert tables.gamma == 3
    assert tables.gammas.tolist() == [1, 3]
    assert tables.target_rows.shape == (2, 1 + 3 + 9 + 27, 3)
    assert np.allclose(tables.target_rows[0, 2].tolist(), [0.2, 0.5, 0.3])


def test_rows_handed_over_are_the_rounded_ones_themselves():
    tables = deck(article(), dtype=torch.float32)
    assert torch.equal(tables.target_rows[0, 0], torch.tensor([0.2, 0.5, 0.3]))
