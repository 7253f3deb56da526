"""Every random number of torch, numpy and `random` is seen, and can be given another value."""

from __future__ import annotations

import functools
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from audit.steering.draws import Draw
from audit.steering.grids import Indices
from audit.steering.holders import replaced
from audit.steering.numpy_draws import Relay
from audit.steering.torch_draws import TorchDraws
from audit.steering.watching import learn, own_streams, watched

ROWS = torch.tensor([[0.2, 0.3, 0.5], [1.0, 0.0, 0.0]])
KNOWN: dict[str, Callable[[], Any]] = {
    "rand": lambda: torch.rand(4),
    "rand of a generator": lambda: torch.rand(4, generator=torch.Generator().manual_seed(1)),
    "rand_like": lambda: torch.rand_like(ROWS),
    "uniform_": lambda: torch.empty(4).uniform_(2, 5),
    "bernoulli": lambda: torch.bernoulli(ROWS),
    "bernoulli of a number": lambda: torch.bernoulli(ROWS, 0.25),
    "bernoulli_": lambda: torch.empty(2, 3).bernoulli_(ROWS),
    "bernoulli_ of a number": lambda: torch.empty(3).bernoulli_(0.4),
    "exponential_": lambda: torch.empty(4).exponential_(2.0),
    "randn": lambda: torch.randn(4),
    "normal_": lambda: torch.empty(4).normal_(1, 2),
    "log_normal_": lambda: torch.empty(4).log_normal_(),
    "cauchy_": lambda: torch.empty(4).cauchy_(1, 2),
    "multinomial": lambda: torch.multinomial(ROWS, 1),
    "multinomial with replacement": lambda: torch.multinomial(ROWS, 3, replacement=True),
    "multinomial without": lambda: torch.multinomial(ROWS[:1], 2),
    "randint": lambda: torch.randint(3, 9, (4,)),
    "random_": lambda: torch.empty(4, dtype=torch.int64).random_(0, 9),
    "Categorical": lambda: torch.distributions.Categorical(ROWS).sample(),
    "gumbel_softmax": lambda: torch.nn.functional.gumbel_softmax(ROWS[:1]),
    "float64": lambda: torch.rand(4, dtype=torch.float64),
    "bfloat16": lambda: torch.rand(4, dtype=torch.bfloat16),
    "float16": lambda: torch.empty(4, dtype=torch.float16).exponential_(),
}
UNKNOWN = {
    "randperm": lambda: torch.randperm(4),
    "geometric_": lambda: torch.empty(4).geometric_(0.3),
    "poisson": lambda: torch.poisson(ROWS),
    "a normal of tensors": lambda: torch.normal(ROWS, ROWS + 1),
}


class Recorder:
    """Notes the draws and what they were, and lets them stand."""

    def __init__(self) -> None:
        self.draws: list[Draw] = []
        self.own: list[list[int]] = []

    def __call__(self, draw: Draw) -> None:
        self.draws.append(draw)
        self.own.append(draw.own.tolist() if draw.known else [])


def replaying(record: list[list[int]]) -> Callable[[Draw], Indices]:
    left = list(record)
    return lambda draw: np.array(left.pop(0), dtype=np.int64)


@pytest.mark.parametrize("operation", KNOWN.values(), ids=KNOWN)
def test_a_recorded_operation_can_be_replayed(operation):
    recorder = Recorder()
    with TorchDraws(recorder):
        first = operation()
    assert recorder.draws
    assert all(draw.known for draw in recorder.draws)
    with TorchDraws(replaying(recorder.own)):
        again = operation()
    assert torch.equal(first, again)


def facts(draw: Draw) -> tuple[Any, ...]:
    weights = None if draw.weights is None else draw.weights.tolist()
    return draw.name, draw.shape, draw.grid, weights, draw.slack


COMMON = {
    "multinomial by name": lambda: torch.multinomial(input=ROWS, num_samples=2, replacement=True),
    "multinomial into a tensor": lambda: torch.multinomial(
        ROWS, 1, out=torch.zeros(2, 1, dtype=torch.int64)
    ),
    "a method": lambda: ROWS.multinomial(2),
    "uniform_ by name": lambda: torch.empty(4).uniform_(to=3.0),
    "a size by name": lambda: torch.rand(size=(2, 2), dtype=torch.float64),
}


@pytest.mark.parametrize("operation", [*KNOWN.values(), *COMMON.values()], ids=[*KNOWN, *COMMON])
def test_watching_learned_functions_shows_the_same_draws(operation):
    # The most common ones need no dispatch mode then.
    whole, few = Recorder(), Recorder()
    functions = learn(lambda supplier: _seen(operation, supplier, None))
    for recorder, watch in ((whole, None), (few, functions)):
        torch.manual_seed(7)
        _seen(operation, recorder, watch)
    assert [facts(draw) for draw in few.draws] == [facts(draw) for draw in whole.draws]
    assert few.own == whole.own


def _seen(operation: Callable[[], Any], supplier: Any, functions: Any) -> None:
    with watched(supplier, Relay(), functions):
        operation()


@pytest.mark.parametrize("operation", UNKNOWN.values(), ids=UNKNOWN)
def test_an_operation_without_a_known_law_is_seen(operation):
    recorder = Recorder()
    with TorchDraws(recorder):
        operation()
    assert [draw.known for draw in recorder.draws] == [False]


def test_every_random_operation_of_torch_is_seen_or_unknown():
    # Whatever torch tags as random comes to the supplier, whether we know its law or not.
    recorder = Recorder()
    with TorchDraws(recorder):
        torch.nn.functional.dropout(ROWS, 0.5)
        torch.rrelu(ROWS, training=True)
        torch.distributions.Dirichlet(torch.ones(3)).sample()
    assert len(recorder.draws) == 3


def test_values_are_given_to_every_element():
    with TorchDraws(lambda draw: np.arange(draw.elements) + 1):
        assert (torch.rand(3) * 2.0**24).tolist() == [1.0, 2.0, 3.0]
        assert torch.multinomial(ROWS, 1).tolist() == [[1], [2]]
        assert torch.randint(5, 9, (2,)).tolist() == [6, 7]


def test_a_choice_shows_the_weights_it_was_given():
    recorder = Recorder()
    with TorchDraws(recorder):
        torch.multinomial(ROWS, 2, replacement=True)
        torch.empty(2).bernoulli_(torch.tensor([0.25, 0.5]))
    shown = [draw.weights.tolist() for draw in recorder.draws]
    assert shown[0] == [row for row in ROWS.double().tolist() for _ in range(2)]
    assert shown[1] == [[0.75, 0.25], [0.5, 0.5]]


def test_draws_without_replacement_leave_out_what_was_drawn():
    seen: list[list[list[float]]] = []

    def second(draw: Draw) -> Indices:
        seen.append(draw.weights.tolist())
        return np.array([1 if len(seen) == 1 else 2])

    with TorchDraws(second):
        assert torch.multinomial(ROWS[:1].double(), 2).tolist() == [[1, 2]]
    assert [row[1] > 0 for rows in seen for row in rows] == [True, False]


def test_the_generator_moves_on_as_it_would_alone():
    one, other = (torch.Generator().manual_seed(3) for _ in range(2))
    torch.rand(5, generator=one)
    with TorchDraws(lambda draw: np.zeros(draw.elements, dtype=np.int64)):
        torch.rand(5, generator=other)
    assert torch.equal(torch.rand(2, generator=one), torch.rand(2, generator=other))


HELD = np.random.default_rng(1)
OLD = np.random.RandomState(1)
NUMPY: dict[str, Callable[[], Any]] = {
    "random": lambda: HELD.random(3),
    "float32": lambda: HELD.random(3, dtype=np.float32),
    "uniform": lambda: HELD.uniform(1, 2, 3),
    "integers": lambda: HELD.integers(2, 9, 3),
    "choice": lambda: HELD.choice(3, p=[0.2, 0.3, 0.5]),
    "choice of things": lambda: HELD.choice(np.array([5, 7, 9]), size=4),
    "exponential": lambda: HELD.exponential(2.0, 3),
    "standard_exponential": lambda: HELD.standard_exponential(3),
    "normal": lambda: HELD.normal(1, 2, 3),
    "gumbel": lambda: HELD.gumbel(size=3),
    "a new generator": lambda: np.random.default_rng().random(3),
    "RandomState": lambda: OLD.choice(3, size=2, p=[0.2, 0.3, 0.5]),
    "rand": lambda: np.random.rand(2, 2),
    "random_sample": lambda: np.random.random_sample(2),
    "legacy choice": lambda: np.random.choice(3, p=[0.2, 0.3, 0.5]),
    "legacy randint": lambda: np.random.randint(0, 5, 4),
    "legacy randn": lambda: np.random.randn(3),
    "random.random": lambda: [random.random()],
    "random.uniform": lambda: random.uniform(2, 3),
    "random.choices": lambda: random.choices([1, 2, 3], weights=[1, 2, 3], k=2),
    "random.randrange": lambda: random.randrange(10),
    "random.choice": lambda: random.choice("abc"),
    "random.shuffle": lambda: random.sample(range(5), 5),
    "random.gauss": lambda: random.Random().gauss(),
}


@pytest.mark.parametrize("operation", NUMPY.values(), ids=NUMPY)
def test_numpy_and_random_can_be_replayed(operation):
    relay, recorder = Relay(), Recorder()
    with relay.installed(operation):
        relay.supplier = recorder
        first = operation()
        assert recorder.draws
        assert all(draw.known for draw in recorder.draws)
        relay.supplier = replaying(recorder.own)
        again = operation()
        relay.supplier = None
    assert np.array_equal(first, again)


def test_everything_is_put_back():
    names = ["default_rng", "Generator", "RandomState", "rand", "choice"]
    before = [getattr(np.random, name) for name in names]
    methods = [random.Random.random, random.Random._randbelow, random.random, HELD]

    def sampler() -> float:
        return HELD.random()

    def stopped() -> None:
        with Relay().installed(sampler):
            assert np.random.default_rng is not before[0]
            assert HELD is not methods[-1]
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        stopped()
    assert [getattr(np.random, name) for name in names] == before
    assert [random.Random.random, random.Random._randbelow, random.random, HELD] == methods


def test_without_a_supplier_nothing_changes():
    with Relay().installed(None):
        inside = np.random.default_rng(4).random(5)
        assert isinstance(np.random.default_rng(4), np.random.Generator)
    assert np.array_equal(inside, np.random.default_rng(4).random(5))


def test_what_a_sampler_holds_is_found_wherever_it_is():
    class Holder:
        def __init__(self) -> None:
            self.rng = np.random.default_rng(2)

        def __call__(self) -> float:
            return self.rng.random()

    closed = np.random.default_rng(3)
    holder = Holder()
    samplers = [
        holder,
        holder.__call__,
        lambda: closed.random(2),
        functools.partial(lambda draw: draw(2), draw=HELD.random),
        functools.partial(lambda rng: rng.random(), rng=np.random.default_rng(4)),
    ]
    for sampler in samplers:
        relay, recorder = Relay(), Recorder()
        with relay.installed(sampler):
            relay.supplier = recorder
            sampler()
        assert [draw.name for draw in recorder.draws] == ["numpy.random"]


def test_only_the_package_of_the_sampler_is_looked_through():
    seen: list[object] = []
    with replaced(np.testing.assert_allclose, seen.append):
        pass
    assert not any(held is torch for held in seen)


def test_global_streams_are_as_they_were():
    states = torch.get_rng_state(), np.random.get_state()[1], random.getstate()
    with own_streams(5):
        first = torch.rand(1), np.random.rand(), random.random()
    with own_streams(5):
        assert (torch.rand(1), np.random.rand(), random.random()) == first
    assert torch.equal(states[0], torch.get_rng_state())
    assert np.array_equal(states[1], np.random.get_state()[1])
    assert states[2] == random.getstate()


def test_watching_few_functions_sees_what_watching_all_does():
    def call() -> None:
        torch.rand(3)
        torch.nn.functional.gumbel_softmax(ROWS)
        torch.distributions.Categorical(ROWS).sample()

    def under(supplier: Any, functions: Any = None) -> None:
        with watched(supplier, Relay(), functions):
            call()

    functions = learn(under)
    few, every = Recorder(), Recorder()
    for recorder, those in ((few, functions), (every, None)):
        torch.manual_seed(1)
        under(recorder, those)
    assert len(every.draws) == 3
    assert [draw.site for draw in few.draws] == [draw.site for draw in every.draws]
    assert few.own == every.own
    assert len(functions) == 3
