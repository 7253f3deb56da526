"""Sampling rules from scratch, beside those of transformers on random logits, and their options."""

from __future__ import annotations

import pytest
import torch

from audit.errors import UsageError
from audit.samplers.decoders.loading import load_decoder
from audit.samplers.decoders.rules import Rules, prefixes, rules_of
from audit.state.settings import StateSettings, options_of

LOGITS = torch.randn(200, 9, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
TEXT = torch.randint(9, (200, 5), generator=torch.Generator().manual_seed(1))


def processors(rules: Rules):
    """Returns the processors of transformers that stand for these rules, in its order."""
    from transformers.generation import logits_process as own

    chosen = own.LogitsProcessorList()
    if rules.repetition_penalty != 1:
        chosen.append(own.RepetitionPenaltyLogitsProcessor(rules.repetition_penalty))
    if rules.temperature != 1:
        chosen.append(own.TemperatureLogitsWarper(rules.temperature))
    if rules.top_k:
        chosen.append(own.TopKLogitsWarper(rules.top_k))
    if rules.top_p < 1:
        chosen.append(own.TopPLogitsWarper(rules.top_p))
    if rules.min_p:
        chosen.append(own.MinPLogitsWarper(rules.min_p))
    return chosen


@pytest.mark.parametrize(
    "rules",
    [
        Rules(repetition_penalty=1.7),
        Rules(temperature=0.6),
        Rules(top_k=3),
        Rules(top_p=0.7),
        Rules(min_p=0.2),
        Rules(repetition_penalty=0.8, temperature=1.4, top_k=6, top_p=0.9, min_p=0.1),
    ],
    ids=str,
)
def test_every_rule_is_that_of_transformers(rules: Rules) -> None:
    expected = processors(rules)(TEXT, LOGITS.clone()).softmax(1)
    assert rules.after(LOGITS, TEXT) == pytest.approx(expected, abs=1e-12)


def test_rules_that_change_nothing_and_a_grammar() -> None:
    assert torch.equal(Rules().after(LOGITS, TEXT), LOGITS.softmax(1))
    law = Rules(grammar="no-repeat").after(LOGITS, TEXT)
    last = TEXT[:, -1:]
    assert bool((law.gather(1, last) == 0).all())
    others = LOGITS.softmax(1).scatter(1, last, 0.0)
    assert law == pytest.approx(others / others.sum(1, keepdim=True), abs=1e-12)


def test_gaps_in_a_text_stand_for_nothing() -> None:
    rules = Rules(repetition_penalty=2.0, grammar="no-repeat")
    ragged = torch.cat([TEXT[:, :3], torch.full((200, 1), -1), TEXT[:, 3:], -torch.ones(200, 2)], 1)
    assert torch.equal(rules.after(LOGITS, ragged.long()), rules.after(LOGITS, TEXT))
    rows = rules.after(LOGITS[:5].unsqueeze(0), prefixes(TEXT[:1]))
    for end in range(1, 6):
        assert torch.equal(rows[0, end - 1], rules.after(LOGITS[end - 1], TEXT[0, :end]))


def test_a_text_that_no_token_may_follow_has_no_law() -> None:
    only = torch.tensor([0.0, -torch.inf])
    assert Rules(grammar="no-repeat").after(only, torch.tensor([0])).isnan().all()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"top_k": 1.5}, "top_k=1.5 must be a whole number"),
        ({"top_k": -1}, "whole number"),
        ({"temperature": 0}, "above 0"),
        ({"temperature": float("nan")}, "above 0"),
        ({"top_p": 2}, "from 0 to 1"),
        ({"min_p": "much"}, "must be a number"),
        ({"grammar": "no-repeats"}, "grammar=no-repeats must be no-repeat.$"),
    ],
)
def test_values_that_a_rule_cannot_have_are_refused(options, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        rules_of(options)


def test_options_are_sorted_into_rules_and_arguments() -> None:
    settings = StateSettings(options=options_of(["top_k=2", "form=prompt-lookup"]))
    assert settings.rules == Rules(top_k=2)
    assert settings.arguments == {"form": "prompt-lookup"}
    for texts, said in ((["top_k"], "not KEY=VALUE"), (["a=1", "a=2"], "given twice")):
        with pytest.raises(UsageError, match=said):
            options_of(texts)


def test_options_that_nothing_takes_are_refused(tmp_path) -> None:
    (tmp_path / "mine.py").write_text("def loop(*models, width=1, **more):\n    return width\n")
    spec = f"{tmp_path}/mine.py:loop"
    assert load_decoder(spec, {"width": 4}).call() == 4  # type: ignore[call-arg]
    for name, options, said in (
        (spec, {"widht": 4}, "did you mean width"),
        ("reference", {"form": "x"}, "reference has no option 'form'"),
        ("transformers", {"form": "prompt-lokup"}, "did you mean prompt-lookup"),
        ("transformers", {"frm": "x"}, "did you mean form"),
    ):
        with pytest.raises(UsageError, match=said):
            load_decoder(name, options)
