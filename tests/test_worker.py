"""A user's sampler in a worker process: what it may do, what it must not, and what each costs it.

Real processes throughout; every worker is closed by its fixture, which also looks for survivors.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch
from exact_instances import seed
from groups import gone
from steps import outcomes, smallest_p, step_batch

from audit.errors import SamplerError
from audit.exact.engine import block_law
from audit.samplers.contract import check_output
from audit.samplers.interface import LoadedSampler, RowOptions, StepBatch
from audit.samplers.registry import load_sampler

EXAMPLES = Path(__file__).parent.parent / "examples"
HEAD = "import os, random, sys, time\nimport numpy, torch\n"
Load = Callable[..., LoadedSampler]


@pytest.fixture
def load(tmp_path: Path) -> Iterator[Load]:
    """Loads the body of a function `verify(batch, generator)` in a worker of its own."""
    loaded: list[LoadedSampler] = []

    def load_body(*body: str, timeout: float = 60.0) -> LoadedSampler:
        lines = "".join(f"    {line}\n" for line in body)
        file = tmp_path / "sample.py"
        file.write_text(f"{HEAD}def verify(batch, generator):\n{lines}")
        loaded.append(load_sampler(f"{file}:verify", timeout=timeout))
        return loaded[-1]

    yield load_body
    for sampler in loaded:
        group = sampler.call._process._process.pid  # type: ignore[attr-defined]
        sampler.close()
        assert gone(group)


def batch(rows: int = 3) -> StepBatch:
    return step_batch(seed(2), rows, generator(1))


def generator(number: int) -> torch.Generator:
    return torch.Generator().manual_seed(number)


def failure(sampler: LoadedSampler) -> SamplerError:
    with pytest.raises(SamplerError) as caught:
        sampler.call(batch(), generator(1))
    return caught.value


ONES = "return torch.ones(len(batch.draft_probs), 3, dtype=torch.int64)"


@pytest.mark.parametrize(("file", "good"), [("my_sampler.py", True), ("broken_sampler.py", False)])
def test_the_example_follows_the_law_and_the_broken_one_does_not(file, good):
    # exact binomial tails, Bonferroni: a false alarm has probability below 1e-6
    sampler = load_sampler(f"{EXAMPLES / file}:verify", in_process=not good)
    given = step_batch(seed(2), 20_000, generator(1), torch.float32)
    tokens = check_output(given, sampler.call(given, generator(2)))
    sampler.close()
    law = {outcome: float(p) for outcome, p in block_law(seed(2), "ratio").items()}
    assert (smallest_p(outcomes(tokens), law) > 1e-6) == good


def test_tensors_arrive_as_they_were_sent(load):
    echo = load(
        "o = batch.options",
        "assert batch.draft_probs.dtype == torch.bfloat16 and batch.draft_probs.stride(0) == 0",
        "sums = batch.draft_probs.double().sum((1, 2)) + batch.target_probs.double().sum((1, 2))",
        "sums = sums + o.temperature + o.top_k + o.top_p + o.greedy + o.seed",
        "tokens = batch.draft_token_ids.sum(1) + batch.num_draft_tokens + (sums * 2**20).long()",
        "return tokens[:, None].expand(-1, 3).int(), torch.full((3,), torch.get_num_threads())",
    )
    draft = torch.rand(1, 2, 5, generator=generator(3)).bfloat16().expand(3, 2, 5)
    target = torch.rand(3, 3, 5, generator=generator(4), dtype=torch.float64)
    options = RowOptions(
        torch.ones(3), *torch.arange(9).view(3, 3)[:2], torch.ones(3) > 0, draft[:, 0, 0]
    )
    given = StepBatch(
        torch.tensor([[1, 2], [3, 4], [0, 0]]), draft, target, torch.full((3,), 2), options
    )
    tokens, threads = echo.call(given, generator(1))
    sums = draft.double().sum((1, 2)) + target.sum((1, 2)) + sum(x.double() for x in options)
    expected = given.draft_token_ids.sum(1) + 2 + (sums * 2**20).long()
    assert tokens.dtype == torch.int64
    assert tokens.tolist() == expected[:, None].expand(-1, 3).tolist()
    assert threads.tolist() == [1, 1, 1]


def test_every_source_of_randomness_is_seeded_by_the_generator_alone(load):
    sampler = load(
        "own = torch.randint(9, (3, 3), generator=generator)",
        "other = [torch.randint(9, ()), random.randrange(9), numpy.random.randint(9)]",
        "return own * 10 + torch.tensor(other)",
    )
    one, same, other = (
        sampler.call(batch(), g) for g in (generator(5), generator(5), generator(6))
    )
    assert torch.equal(one, same)
    assert ((one // 10) != (other // 10)).any()
    assert ((one % 10) != (other % 10)).any()
    assert (one // 10 != one % 10).any()  # no two sources give the same numbers


def test_seeding_patching_and_breaking_things_stay_in_the_worker(load):
    sampler = load(
        "torch.manual_seed(0)",
        "torch.rand = torch.equal = torch.Generator = None",
        "os.environ.clear(); os.chdir('/'); sys.modules.clear()",
        ONES,
    )
    before, given = torch.random.get_rng_state(), batch()
    assert isinstance(failure(sampler), SamplerError)  # it broke its own worker, and only that
    assert torch.equal(torch.random.get_rng_state(), before)
    assert torch.equal(given.target_probs, batch().target_probs)
    assert torch.rand(1).numel() == 1


def test_each_mistake_has_its_sentence_and_the_worker_lives_on(load):
    # What goes wrong depends on the number of rows: one worker shows them all.
    sampler = load(
        "print('x' * 300_000)",
        "rows = len(batch.draft_probs)",
        "if rows == 1: exit()",
        "if rows == 2: return [[0]]",
        "if rows == 3: return torch.rand(3, 3)",
        "if rows == 4: batch.target_probs[0, 0, 0] = 0.5",
        "if rows == 5: batch.draft_token_ids.numpy()[:] = 7",
        "if rows == 6: raise ValueError('boom')",
        "if rows == 7: raise type('Mute', (Exception,), {'__str__': None})",
        ONES,
    )
    said = [
        "called exit().",
        "returned a list for tokens; return an int64 tensor [2, 3] on cpu.",
        "returned dtype torch.float32 for tokens; return an int64 tensor [3, 3] on cpu.",
        "wrote into its input target_probs; it must copy it first.",
        "wrote into its input draft_token_ids; it must copy it first.",
        f"raised ValueError: boom (line 11 of {sampler.name.removesuffix(':verify')}).",
        f"raised Mute (line 12 of {sampler.name.removesuffix(':verify')}).",
    ]
    for rows, sentence in enumerate(said, 1):
        given = batch(rows)
        with pytest.raises(SamplerError) as caught:
            sampler.call(given, generator(1))
        assert str(caught.value) == f"{sampler.name} {sentence}"
        assert all(map(torch.equal, given[:4], batch(rows)[:4]))
    assert 'sample.py", line 12, in verify' in caught.value.detail
    assert "serve.py" not in caught.value.detail
    assert caught.value.detail.endswith("xxx\n")  # what it printed
    assert sampler.call(batch(8), generator(1)).tolist() == [[1, 1, 1]] * 8
    assert os.fstat(sampler.call._process._log.fileno()).st_size < 2_000_000


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("os._exit(7)", "exit code 7)."),
        ("os.kill(os.getpid(), 11)", "signal SIGSEGV)."),
        ("os.closerange(3, 256)", ""),
    ],
)
def test_a_worker_that_ends_is_an_error(load, line, said):
    assert f"verify ended its worker process in call 1 ({said}" in str(failure(load(line)))


def test_a_hang_is_stopped_and_the_worker_stays_stopped(load):
    sampler = load("print('sleeping')", "time.sleep(60)", timeout=0.5)
    started = time.monotonic()
    error = failure(sampler)
    assert time.monotonic() - started < 10
    assert "did not answer within 0.5 s in call 1 and was stopped." in str(error)
    assert "sleeping" in error.detail
    assert "its worker process has ended" in str(failure(sampler))


def test_a_timeout_without_end_waits_for_the_answer(load):
    sampler = load(ONES, timeout=float("inf"))
    assert sampler.call(batch(), generator(1)).tolist() == [[1, 1, 1]] * 3


def test_a_timeout_that_is_no_number_is_over_at_once(load):
    with pytest.raises(SamplerError, match="did not answer within nan s while it was loaded"):
        load(ONES, timeout=float("nan"))


def test_tensors_of_other_kinds_have_their_sentence_and_the_worker_lives_on(load):
    sampler = load(
        "rows = len(batch.draft_probs)",
        "tokens = torch.zeros(rows, 3, dtype=torch.int64)",
        "if rows == 1: return tokens.to_sparse()",
        "if rows == 2: return tokens.float().to('meta')",
        "escaped = []",
        "torch.func.vmap(lambda x: escaped.append(x) or x)(tokens[None])",
        "if rows == 3: return escaped[0]",
        "return tokens",
    )
    said = [
        "returned a tensor of layout torch.sparse_coo for tokens; return an int64 tensor [1, 3]",
        "returned a tensor on meta for tokens; return an int64 tensor [2, 3] on cpu.",
        "left something behind that cannot be read: RuntimeError: Either your",
    ]
    for rows, sentence in enumerate(said, 1):
        with pytest.raises(SamplerError) as caught:
            sampler.call(batch(rows), generator(1))
        assert sentence in str(caught.value)
    assert sampler.call(batch(4), generator(1)).tolist() == [[0, 0, 0]] * 4


def test_a_worker_killed_in_the_middle_of_a_call_is_an_error(load):
    sampler = load("time.sleep(60)")
    pid = sampler.call._process._process.pid
    killer = threading.Timer(0.3, os.kill, (pid, signal.SIGKILL))
    killer.start()
    assert "ended its worker process in call 1 (it was killed" in str(failure(sampler))
    killer.join()


def test_forked_children_neither_answer_nor_outlive_the_worker(load):
    sampler = load(
        "if os.fork() == 0 and os.fork() == 0:",
        "    time.sleep(60)",
        "return torch.full((3, 3), os.getpid())",
    )
    answers = [sampler.call(batch(), generator(i)) for i in range(5)]
    assert {int(a[0, 0]) for a in answers} == {sampler.call._process._process.pid}


def test_the_users_own_packages_win_and_ours_are_not_in_the_way(tmp_path):
    for name in ("audit", "reports", "registry"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("TOKEN = 2")
    (tmp_path / "wire.py").write_text("TOKEN = 2")
    (tmp_path / "mine.py").write_text(
        "import audit, registry, reports, wire, torch\n"
        "def verify(batch, generator):\n"
        "    total = audit.TOKEN + registry.TOKEN + reports.TOKEN + wire.TOKEN\n"
        "    return torch.full((3, 3), total)\n"
    )
    sampler = load_sampler(f"{tmp_path / 'mine.py'}:verify")
    assert sampler.call(batch(), generator(1)).tolist() == [[8] * 3] * 3
    sampler.close()


def test_a_worker_ends_with_its_parent(tmp_path):
    (tmp_path / "sample.py").write_text(f"{HEAD}def verify(*_):\n    time.sleep(60)\n")
    parent = (
        "from audit.samplers.registry import load_sampler\n"
        f"sampler = load_sampler({str(tmp_path / 'sample.py:verify')!r})\n"
        "print(sampler.call._process._process.pid, flush=True)\n"
        "import os; os.kill(os.getpid(), 9)\n"
    )
    root = Path(__file__).parent.parent
    command = [sys.executable, "-c", parent]
    done = subprocess.run(command, check=False, stdout=subprocess.PIPE, text=True, cwd=root)
    assert done.returncode == -signal.SIGKILL
    assert gone(int(done.stdout))


def test_a_python_without_torch_is_named(tmp_path):
    bare = tmp_path / "python"
    bare.write_text(f'#!/bin/sh\nexec {sys.executable} -S "$@"\n')  # -S: no site-packages
    bare.chmod(0o755)
    with pytest.raises(SamplerError, match=r"\(exit code 1: ModuleNotFoundError: No module named"):
        load_sampler("math:sin", python=str(bare))


def test_a_lost_handle_ends_the_worker_too(tmp_path):
    (tmp_path / "sample.py").write_text(f"{HEAD}def verify(*_):\n    pass\n")
    sampler = load_sampler(f"{tmp_path / 'sample.py'}:verify")
    group = sampler.call._process._process.pid
    del sampler
    assert gone(group)
