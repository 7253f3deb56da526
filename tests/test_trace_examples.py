"""The loggers of examples/: each records a real trace, which is audited."""

from __future__ import annotations

import importlib.util
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch

from audit.trace import run_trace
from audit.tracerecord import TraceRecord, TraceSettings
from audit.verdict import Outcome

EXAMPLES = Path(__file__).parent.parent / "examples"
DECLARED = TraceSettings(declares=("ratio",))
VOCAB = 32

# A correct engine is accused with a chance of 1e-6 a trace (alpha); each control must fail.


def example(name: str) -> ModuleType:
    """Returns a fresh copy of an example's module."""
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(autouse=True)
def seeded() -> Iterator[None]:
    """Keeps the examples' use of torch's own generator to itself."""
    with torch.random.fork_rng():
        torch.manual_seed(7)
        yield


def torch_trace(module: ModuleType, path: Path, *, rounds: int = 500) -> TraceRecord:
    """Returns the audit of a loop over two tables of logits by last token."""
    target = 1.5 * torch.randn(VOCAB, VOCAB)
    draft = target + torch.randn(VOCAB, VOCAB)
    with path.open("w") as file:
        tokens = module.generate(
            lambda ids: target[ids], lambda ids: draft[ids], torch.tensor([0]),
            rounds=rounds, gamma=3, temperature=0.9, file=file,
        )  # fmt: skip
    record = run_trace([str(path)], settings=DECLARED)
    assert record.evidence.rounds == rounds
    assert record.evidence.emitted == len(tokens) - 1
    return record


def test_a_plain_loop_in_torch_is_logged_and_audited(tmp_path: Path) -> None:
    record = torch_trace(example("trace_torch"), tmp_path / "t.jsonl")
    assert record.bad == 0
    assert record.verdict.outcome is Outcome.INCONCLUSIVE


def test_a_wrong_verifier_in_the_loop_is_found(tmp_path: Path) -> None:
    module = example("trace_torch")

    def whole_target(drafted: Any, p: Any, q: Any) -> Any:
        for i, token in enumerate(drafted.tolist()):
            if torch.rand(()) * q[i, token] >= p[i, token]:
                return torch.cat([drafted[:i], torch.multinomial(p[i], 1)])
        return torch.cat([drafted, torch.multinomial(p[-1], 1)])

    module.verify = whole_target  # type: ignore[attr-defined]
    record = torch_trace(module, tmp_path / "t.jsonl")
    assert record.verdict.outcome is Outcome.FAIL
    assert "full-target-fallback" in record.verdict.suspects


def tiny(layers: int, seed: int) -> Any:
    """Returns a random GPT-2 whose laws are neither flat nor one-hot."""
    from transformers import GPT2Config, GPT2LMHeadModel

    torch.manual_seed(seed)
    config = GPT2Config(
        vocab_size=VOCAB, n_positions=256, n_embd=16, n_layer=layers, n_head=2,
        bos_token_id=None, eos_token_id=None, pad_token_id=0,
    )  # fmt: skip
    model = GPT2LMHeadModel(config).eval()
    with torch.no_grad():
        for weights in model.parameters():
            weights.mul_(8 if weights.ndim > 1 else 1)
    return model


def transformers_trace(path: Path) -> TraceRecord:
    """Returns the audit of transformers' assisted generation, five texts long."""
    module, model, assistant = example("trace_transformers"), tiny(2, 1), tiny(1, 2)
    options = assistant.generation_config
    options.num_assistant_tokens, options.num_assistant_tokens_schedule = 3, "constant"
    options.assistant_confidence_threshold = 0.0
    with path.open("w") as file, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # transformers' own, about its own arguments
        for _ in range(5):
            prompt = torch.randint(VOCAB, (1, 4))
            mask = torch.ones_like(prompt)
            module.generate_and_log(
                file, model, assistant, prompt,
                attention_mask=mask, max_new_tokens=90, temperature=0.9,
            )  # fmt: skip
    return run_trace([str(path)], settings=DECLARED)


def test_assisted_generation_is_logged_and_audited(tmp_path: Path) -> None:
    record = transformers_trace(tmp_path / "t.jsonl")
    assert record.bad == 0
    assert record.verdict.outcome is Outcome.INCONCLUSIVE
    assert record.evidence.rounds > 150
    assert record.evidence.emitted > 400
    assert record.evidence.unjudged == 0


def test_a_fault_inside_transformers_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from transformers.generation import utils

    def always(ids: Any, draft: Any, length: int, target: Any, **_: Any) -> tuple[Any, Any]:
        bonus = torch.multinomial(target[0, -1:].softmax(-1), 1)
        return torch.cat([ids[:, -length:], bonus], dim=1), torch.tensor(length)

    monkeypatch.setattr(utils, "_speculative_sampling", always)
    record = transformers_trace(tmp_path / "t.jsonl")
    assert record.verdict.outcome is Outcome.FAIL
    assert "do not follow the recorded target rows" in record.verdict.sentence
    assert "always-accept" in record.verdict.suspects
