"""transformers' other forms: drafts from the prompt, drafts in another vocabulary, sampling rules.

Each form runs as it is and with a fault patched into the package's own function. False alarm of
each law check: at most 1e-6 by design of the e-value and of the impossible events; a step that
departs and a wrong log-probability are no matter of chance. What takes more than seconds runs in
CI's second step.
"""

from __future__ import annotations

import os
import sys
from typing import Any

import pytest
import torch
from decoding import world_of

from audit.samplers.decoders.interface import LoadedDecoder
from audit.samplers.decoders.loading import load_decoder
from audit.samplers.decoders.rules import Rules
from audit.samplers.models.tokenizers import tokenizer_of, vocabularies
from audit.selection import select_cases
from audit.state import checks
from audit.state.auditing import audit_state
from audit.state.law import LawWatch, StateBudget
from audit.state.one_world import follow_law
from audit.state.positions import positions
from audit.state.record import StateOutcome
from audit.state.reported import reported
from audit.state.settings import StateSettings
from audit.state.vocabulary import compare_vocabularies
from audit.state.watching import watch_steps
from audit.state.world import World, with_rules
from audit.state.worlds import tiny_world

ASSISTANT, LOOKUP, OTHER = (
    load_decoder("transformers", {"form": form})
    for form in ("assistant", "prompt-lookup", "other-tokenizer")
)
REPEATING = (1, 0, 2, 1, 0, 1)
BUDGET = StateBudget()
heavy = [
    pytest.mark.heavy,
    pytest.mark.skipif(not os.environ.get("CI"), reason="takes long; CI's second step runs it"),
]
RULED = {
    "temperature": Rules(temperature=0.4),
    "top_k": Rules(top_k=2),
    "top_p": Rules(top_p=0.7),
    "min_p": Rules(min_p=0.4),
    "repetition_penalty": Rules(repetition_penalty=3.0),
}


def table(decoder: LoadedDecoder, rules: Rules | None = None, **more: Any) -> World:
    """Returns the world of block-basis, whose rows have no zeros, under rules."""
    world = with_rules(
        world_of(select_cases(["block-basis"])[0], decoder, **more), rules or Rules()
    )
    assert world is not None
    return world


def tiny(architecture: str, rules: Rules | None = None, **more: Any) -> World:
    """Returns a world of real, tiny, random models under rules."""
    world = with_rules(tiny_world(architecture, **more), rules or Rules())
    assert world is not None
    return world


def followed(decoder: LoadedDecoder, world: World, sequences: int) -> LawWatch:
    """Returns the joint law of at most so many sequences."""
    return follow_law(decoder, world, BUDGET, StateSettings(sequences=sequences, seed=1))


def verifying(monkeypatch, change) -> None:
    """Patches the processors of the verification alone.

    change: `(processors, text, text at the start of the round) -> (processors, text)`.
    """
    from transformers.generation.logits_process import LogitsProcessorList

    right = LogitsProcessorList.__call__

    def patched(self, input_ids, scores, **more):
        frame = sys._getframe(1)
        if frame.f_code.co_name != "_assisted_decoding":
            return right(self, input_ids, scores, **more)
        started = input_ids[:, : frame.f_locals["cur_len"]]
        processors, text = change(list(self), input_ids, started)
        return right(LogitsProcessorList(processors), text, scores, **more)

    monkeypatch.setattr(LogitsProcessorList, "__call__", patched)


def without_crop(monkeypatch) -> None:
    """Leaves rejected tokens in the target's cache."""
    from transformers.cache_utils import DynamicCache

    crop = DynamicCache.crop

    def broken(self, tokens: int) -> None:
        if sys._getframe(1).f_code.co_name != "_assisted_decoding":
            crop(self, tokens)

    monkeypatch.setattr(DynamicCache, "crop", broken)


def in_order_of_ids(monkeypatch, *, backwards: bool = False) -> None:
    """Lets `get_vocab` list tokens by id, which the package takes for granted, or backwards."""
    from transformers import PreTrainedTokenizerFast

    listed = PreTrainedTokenizerFast.get_vocab
    monkeypatch.setattr(
        PreTrainedTokenizerFast,
        "get_vocab",
        lambda self: dict(
            sorted(listed(self).items(), key=lambda item: item[1], reverse=backwards)
        ),
    )


class TestPromptLookup:
    """Drafts that are copied from the text."""

    def test_states_match_and_rounds_are_counted(self) -> None:
        steps = watch_steps(LOOKUP, table(LOOKUP, prompt=REPEATING), 8, seed=1)
        assert steps.readable
        assert steps.departing == (0, 0)
        assert steps.compared[1] == 0
        assert 0 < steps.rejections + steps.full_acceptances < 8 * 6
        assert min(steps.rejections, steps.full_acceptances) > 0

    @pytest.mark.parametrize("architecture", ["gpt2", "llama"])
    def test_a_cache_that_is_not_cropped_is_found(self, architecture, monkeypatch) -> None:
        world = tiny(architecture, prompt=REPEATING)
        assert watch_steps(LOOKUP, world, 6, seed=1).departing == (0, 0)
        without_crop(monkeypatch)
        assert watch_steps(LOOKUP, world, 6, seed=1).departing[0] > 1

    class TestHeavy:
        """Certified audits."""

        pytestmark = heavy

        def test_it_is_consistent(self) -> None:
            settings = StateSettings(
                sequences=500, watched=80, epsilon=0.2, prompt=REPEATING,
                options={"form": "prompt-lookup"},
            )  # fmt: skip
            record = audit_state("transformers", ["basis-1"], settings=settings)
            assert record.outcome is StateOutcome.CONSISTENT, record.sentence
            (world,) = record.worlds
            assert min(world.steps.rejections, world.steps.full_acceptances) >= 20
            assert world.law.distinct >= 10

        def test_a_soft_law_claimed_for_copied_drafts_is_broken(self, monkeypatch) -> None:
            from transformers.generation.candidate_generator import PromptLookupCandidateGenerator

            copied = PromptLookupCandidateGenerator.get_candidates

            def claiming(self, input_ids, **more):
                candidates, _ = copied(self, input_ids, **more)
                new = candidates.shape[1] - input_ids.shape[1]
                return candidates, torch.zeros(1, new, self.vocab_size) if new else None

            monkeypatch.setattr(PromptLookupCandidateGenerator, "get_candidates", claiming)
            world = table(LOOKUP, prompt=(*REPEATING, 0, 2))
            watch = followed(LOOKUP, world, 500)
            assert any("not the target's" in sentence for sentence in watch.failures())
            assert watch_steps(LOOKUP, world, 8, seed=1).departing == (0, 0)

        def test_text_behind_a_stop_token_is_found(self, monkeypatch) -> None:
            from transformers.generation.stopping_criteria import EosTokenCriteria

            world = table(LOOKUP, prompt=REPEATING)
            stops = checks.stops(LOOKUP, world, 150, seed=1)
            assert stops.stopped > 30
            assert stops.beyond == 0
            assert stops.log_e < BUDGET.log_threshold(StateBudget.STOPS)
            monkeypatch.setattr(EosTokenCriteria, "__call__", lambda *a, **k: torch.tensor([False]))
            assert checks.stops(LOOKUP, world, 30, seed=1).beyond > 3


class TestOtherTokenizer:
    """Drafts in another vocabulary: universal speculative decoding and re-encoded text."""

    def test_the_vocabularies_overlap_and_a_map_is_checked(self) -> None:
        target, draft = vocabularies(8)
        assert (len(target), len(draft)) == (8, 9)
        assert not compare_vocabularies(target, draft).same
        from transformers.generation.candidate_generator import AssistantToTargetTranslator

        translator = AssistantToTargetTranslator(tokenizer_of(target), tokenizer_of(draft), 8)
        ids = translator._assistant_to_target_input_ids.tolist()
        shared = [number for number, to in enumerate(ids) if to >= 0]
        words, to = [draft[number] for number in shared], [ids[number] for number in shared]
        assert compare_vocabularies(target, words, to).same
        assert len(shared) == 7

    def test_greedy_text_is_exact_through_re_encoded_drafts(self) -> None:
        world = tiny("gpt2", form="tokenized")
        assert checks.greedy(OTHER, world).different == 0

    class TestHeavy:
        """Real sampling, which prunes the draft model."""

        pytestmark = heavy

        @pytest.mark.parametrize("architecture", ["gpt2", "llama"])
        def test_q_is_in_the_order_of_get_vocab(self, architecture, monkeypatch) -> None:
            # transformers 5.24: the pruned head's columns are in the order of `get_vocab`, which a
            # fast tokenizer lists as its hash map has them, another one in each process;
            # get_target_logits takes them by id. One order that is not of ids is set here.
            in_order_of_ids(monkeypatch, backwards=True)
            watch = followed(OTHER, tiny(architecture, form="tokenized"), 500)
            assert any("not the target's" in sentence for sentence in watch.failures())

        @pytest.mark.parametrize("architecture", ["gpt2", "llama"])
        def test_in_the_order_of_ids_it_is_right(self, architecture, monkeypatch) -> None:
            in_order_of_ids(monkeypatch)
            world = tiny(architecture, Rules(temperature=0.8, top_p=0.95), form="tokenized")
            watch, steps = followed(OTHER, world, 150), watch_steps(OTHER, world, 12, seed=1)
            assert watch.failures() == ()
            assert watch.dependent() == ""
            assert steps.departing == (0, 0)
            assert min(steps.rejections, steps.full_acceptances) >= 3

        def test_a_wrong_map_of_q_is_broken(self, monkeypatch) -> None:
            from transformers.generation.candidate_generator import AssistantToTargetTranslator

            in_order_of_ids(monkeypatch)
            right = AssistantToTargetTranslator.get_target_logits
            monkeypatch.setattr(
                AssistantToTargetTranslator,
                "get_target_logits",
                lambda self, logits: right(self, logits).roll(1, -1),
            )
            watch = followed(OTHER, tiny("gpt2", form="tokenized"), 500)
            assert any("not the target's" in sentence for sentence in watch.failures())


class TestRules:
    """Sampling rules on: the law is that after the rules."""

    def test_reported_scores_are_those_of_the_law(self) -> None:
        rules = Rules(repetition_penalty=1.5, temperature=0.7)
        told = reported(ASSISTANT, tiny("gpt2", rules), seed=1)
        assert (told.missing, told.beyond, told.wrong) == (0, 0, 0)
        assert told.tokens > 30

    def test_a_penalty_that_sees_the_start_of_the_round_is_named(self, monkeypatch) -> None:
        world = tiny("gpt2", gamma=2, length=3)
        threshold = BUDGET.log_threshold(StateBudget.RULES)
        for one in positions(ASSISTANT, world, 8, seed=1):
            assert one.log_e < threshold
        verifying(monkeypatch, lambda processors, text, started: (processors, started))
        found = {one.rule: one for one in positions(ASSISTANT, world, 20, seed=1)}
        assert found["grammar"].log_e > threshold
        assert found["grammar"].leader == "round-start"

    class TestHeavy:
        """The joint law under each rule, right and ignored by the verification."""

        pytestmark = heavy

        @pytest.mark.parametrize("rule", RULED)
        def test_each_rule_is_applied_and_an_ignored_one_is_broken(self, rule, monkeypatch) -> None:
            world = table(ASSISTANT, RULED[rule])
            assert followed(ASSISTANT, world, 100).failures() == ()

            def without(processors, text, started):
                kind = "".join(word.capitalize() for word in rule.split("_"))
                kept = [one for one in processors if not type(one).__name__.startswith(kind)]
                assert len(kept) < len(processors)
                return kept, text

            verifying(monkeypatch, without)
            assert followed(ASSISTANT, world, 500).failures()

        @pytest.mark.parametrize("architecture", ["gpt2", "llama"])
        def test_all_together_on_real_models(self, architecture) -> None:
            settings = StateSettings(
                sequences=200, watched=25, architectures=(architecture,),
                options={"temperature": 0.8, "top_k": 6, "top_p": 0.95, "repetition_penalty": 1.3},
            )  # fmt: skip
            record = audit_state("transformers", (), settings=settings)
            assert record.outcome is StateOutcome.CONSISTENT, record.sentence

        def test_lookup_under_rules(self) -> None:
            rules = Rules(temperature=0.7, repetition_penalty=1.3)
            assert followed(LOOKUP, table(LOOKUP, rules, prompt=REPEATING), 100).failures() == ()
