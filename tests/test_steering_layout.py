"""Which random number belongs to which row."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from audit.steering.draws import Draw, UnsteerableError
from audit.steering.grids import Uniform
from audit.steering.layout import MOST, Batched, Layout, Looped, Place, Single, looped

SITE, OTHER = (1, 2), (1, 9)


def draw(*shape: int, site: tuple[int, int] = SITE) -> Draw:
    values = np.arange(np.prod(shape, dtype=int)) * 2.0**-24
    return Draw(site, "torch.rand", shape, lambda: values, grid=Uniform(24))


@pytest.mark.parametrize("shape", [(37,), (37, 4), (37, 2, 3), (4, 37), (74, 3), (2, 37, 5)])
def test_rows_lie_along_the_dimension_that_is_a_multiple_of_them(shape):
    given = draw(*shape)
    place = Batched().place(given, 0, Counter(), 37)
    rows = place.by_row(given, given.own, 37)
    assert rows.shape == (37, given.elements // 37)
    assert np.array_equal(place.flat(given, rows, 37), given.own)
    assert int(np.prod(place.shape(given, 37))) == rows.shape[1]


def test_consecutive_elements_of_a_flat_batch_are_of_one_row():
    given = draw(74, 3)
    place = Batched().place(given, 0, Counter(), 37)
    assert place.by_row(given, given.own, 37)[1].tolist() == list(range(6, 12))


def test_the_innermost_dimension_makes_the_groups():
    layout = Layout()
    given = draw(37, 2, 3)
    place = Batched().place(given, 0, Counter(), 37)
    unit = layout.unit(place.key, given, place.shape(given, 37))
    assert [list(group) for group in unit.groups] == [[0, 1, 2], [3, 4, 5]]
    assert unit is layout.unit(place.key, given, place.shape(given, 37))


def test_numbers_that_do_not_go_by_rows_are_shared():
    assert Batched().place(draw(3), 0, Counter(), 37).shared
    assert not Single().place(draw(3), 0, Counter(), 1).shared


def test_the_same_place_again_is_another_unit():
    seen: Counter[object] = Counter()
    keys = [Batched().place(draw(37), i, seen, 37).key for i in range(2)]
    assert len(set(keys)) == 2


def test_a_loop_over_rows_is_recognised():
    one = ["seed", "coins", "token"]
    assert looped(one, ["seed", *["coins", "token"] * 5], 5) == Looped(1, 2)
    assert looped(one, ["seed", *["coins", "token"] * 4, "coins"], 5) is None
    assert looped(one, one, 5) is None


def test_a_loop_gives_each_row_its_draws():
    mode, seen = Looped(1, 2), Counter()
    sites = [OTHER, SITE, SITE, SITE, SITE]
    places = [mode.place(draw(1, site=site), i, seen, 2) for i, site in enumerate(sites)]
    assert places[0].shared
    assert [place.rows.start for place in places[1:]] == [0, 0, 1, 1]
    assert places[1].key == places[3].key != places[2].key == places[4].key


def test_too_many_numbers_are_refused():
    given = draw(1, MOST + 1)
    place = Place((SITE, 0), slice(0, 1), None)
    with pytest.raises(UnsteerableError, match="more than"):
        Layout().unit(place.key, given, place.shape(given, 1))
