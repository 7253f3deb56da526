"""No NaN enters what is shown."""

import math

import pytest

from audit.errors import DraftproofError
from audit.evidence import Acceptance, Deviation, GateReading


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_number_that_is_not_finite_is_refused(bad):
    assert GateReading(log_e=1.0, log_e_max=2.0, log_threshold=3.0).log_e == 1.0
    with pytest.raises(DraftproofError, match="log_e"):
        GateReading(log_e=bad, log_e_max=2.0, log_threshold=3.0)
    with pytest.raises(DraftproofError, match=r"Acceptance\.observed"):
        Acceptance(observed=bad, low=0.0, high=1.0, best=0.7)


def test_numbers_inside_tuples_and_mappings_are_read_too():
    whole = {
        "tokens": (0, 1),
        "expected": (0.5, 0.5),
        "observed": (5, 5),
        "low": (0.0, 0.0),
        "high": (1.0, 1.0),
    }
    assert Deviation(**whole, predictions={"fault": (0.4, 0.6)}).tokens == (0, 1)
    with pytest.raises(DraftproofError, match="predictions"):
        Deviation(**whole, predictions={"fault": (0.4, math.nan)})
