"""Maps of samplers: correct ones in every way of writing them, and the faults of the catalogue."""

from __future__ import annotations

import os
from functools import partial

import pytest
import torch
from steered_samplers import DRAWS, one_at_a_time, shared_coins, verifier
from steps import batch_along

from audit.case import Case
from audit.exact.catalogue import rules_for
from audit.exact.engine import block_law
from audit.samplers.chain import toss, verified
from audit.samplers.faults.drafting import COINS, on_own_draft
from audit.samplers.interface import StepBatch
from audit.samplers.registry import wrap_sampler
from audit.samplers.rules import sampler_of
from audit.selection import select_cases
from audit.steering.blocks import Blocks, codes_of, outcome_of
from audit.steering.draws import UnsteerableError
from audit.steering.law import JointLaw
from audit.steering.layout import Batched, Looped, Single
from audit.steering.map import Choice, Node, Race, Split
from audit.steering.modes import settle
from audit.steering.probing import Prober
from audit.steering.steer import law_of, maps_of

CASES = {case.id: case for case in select_cases(["small", "trees"])}
NAMES = {id_: sorted(rules_for(CASES[id_])) for id_ in ("basis-1", "basis-2", "tree-basis")}
SHARED_NOISE = "gumbel-coupled"  # its noise decides several tokens jointly: not to be read off
heavy = [
    pytest.mark.heavy,
    pytest.mark.skipif(not os.environ.get("CI"), reason="takes minutes; CI's second step runs it"),
]


def mapped(sampler, case: Case, dtype: torch.dtype = torch.float32) -> tuple[Prober, JointLaw]:
    """Returns a prober that has settled, and the law of the maps it finds, without proof."""
    blocks = Blocks.of(case, dtype=dtype, device=torch.device("cpu"))
    prober = Prober(wrap_sampler(sampler), blocks, seed=1, batch_size=65_536)
    with prober.watching():
        settle(prober)
        maps = maps_of(prober)
    prober.maps = maps  # for the tests that look at nodes
    return prober, law_of(blocks, maps)


def nodes(prober: Prober) -> list[Node]:
    return [node for top in prober.maps.values() for node in top.nodes()]


# A probability of the map is off by the grid and the rounding of the rows, a few times 2^-24 or
# 2^-53 for each drafted token.
@pytest.mark.parametrize("draw", DRAWS)
@pytest.mark.parametrize(("dtype", "far"), [(torch.float32, 1e-7), (torch.float64, 1e-15)])
def test_a_correct_sampler_has_the_law_of_its_rule(draw, dtype, far):
    case = CASES["prefix-dependent-2"]
    prober, law = mapped(verifier(draw=DRAWS[draw]), case, dtype)
    assert isinstance(prober.mode, Batched)
    assert law.to_rule("ratio") < far
    assert law.to_target < far


def test_a_sampler_without_a_batch_dimension_has_it_too():
    prober, law = mapped(one_at_a_time(verifier()), CASES["mirrored-two"])
    assert isinstance(prober.mode, Looped)
    assert law.to_rule("ratio") < 1e-7


def test_what_draws_a_token_is_told_by_the_kind_of_its_node():
    kinds = {"multinomial": Choice, "exponential-race": Race, "gumbel-max": Race}
    for draw, kind in kinds.items():
        prober, _ = mapped(verifier(draw=DRAWS[draw]), CASES["article-three-tokens"])
        found = {type(node) for node in nodes(prober)}
        assert kind in found
        assert Split in found


def test_rows_that_share_numbers_are_asked_one_by_one():
    prober, law = mapped(verifier(coins=shared_coins), CASES["mirrored-two"])
    assert isinstance(prober.mode, Single)
    assert law.to_rule("ratio") < 1e-7


def drafts_itself(rule: str) -> bool:
    sampler = sampler_of(rule)
    return isinstance(sampler, partial) and sampler.func is on_own_draft


def along_its_own_draft(rule: str, case: Case):
    """Returns the function of a rule that drafts for itself, with rows along what it drafts.

    A drafted token depends on the rows after those before it: each pass settles one more.
    """
    drafting = sampler_of(rule).keywords["drafting"]

    def sampler(batch: StepBatch, generator: torch.Generator) -> torch.Tensor:
        gamma = batch.draft_token_ids.shape[1]
        coins = toss(batch, (COINS + 1) * gamma + 1, generator)
        for _ in range(gamma):
            own, _ = drafting(batch, coins[:, : COINS * gamma])
            batch = batch_along(case, own.clamp(min=0), batch.draft_probs.dtype)
        own, accept = drafting(batch, coins[:, : COINS * gamma])
        drafted = batch._replace(draft_token_ids=own)
        tokens = verified(drafted, coins[:, COINS * gamma :], accept=lambda _: accept)
        return tokens.masked_fill((own < 0).any(1, keepdim=True), -1)

    return sampler


def emitted_apart(law: JointLaw, rule: str, case: Case) -> float:
    """Returns the total variation of what is emitted to the exact law of a rule."""
    exact = block_law(case, rule)
    outcomes = {*law.emitted, *exact}
    return float(sum(abs(law.emitted.get(o, 0) - exact[o]) for o in outcomes) / 2)


def close(rule: str, id_: str) -> bool:
    """Returns whether the law that is read off the torch function of a rule is its exact law.

    Thresholds of the catalogue, such as p > 3/10, stand at the rows of the case: where those
    handed over are off by rounding they could fall on the other side.
    """
    case = CASES[id_]
    if drafts_itself(rule):
        _, law = mapped(along_its_own_draft(rule, case), case)
        return emitted_apart(law, rule, case) < 1e-6
    _, law = mapped(sampler_of(rule), case)
    return min(law.to_rule(rule), law.to_rule(rule, case)) < 1e-6


ALL = [(id_, rule) for id_ in NAMES for rule in NAMES[id_] if rule != SHARED_NOISE]
SOME = ALL[::12]
TWICE = ["drafting-noise-reused", "coin-reused-in-fallback", "shared-coin"]
REST = [pytest.param(*pair, marks=heavy) for pair in ALL if pair not in SOME]


@pytest.mark.parametrize(("id_", "rule"), [*SOME, *REST])
def test_the_law_of_a_torch_function_is_its_exact_law(id_, rule):
    assert close(rule, id_)


@pytest.mark.parametrize("rule", TWICE)
def test_numbers_that_are_used_twice_are_no_obstacle(rule):
    assert close(rule, "basis-2")


def test_a_sampler_that_drafts_for_itself_is_read_off():
    assert close("argmax-draft", "basis-1")


def test_noise_that_decides_several_tokens_jointly_is_not_read_off():
    with pytest.raises(UnsteerableError, match="jointly"):
        mapped(sampler_of(SHARED_NOISE), CASES["basis-1"])


def test_a_code_is_the_row_it_was_made_of():
    rows = torch.tensor([[2, 0, -1, -1], [-1, -1, -1, -1], [1, -1, 2, 3], [-7, 0, 9, -1]])
    codes = codes_of(rows, 3).tolist()
    found = [outcome_of(code, vocab_size=3, length=4) for code in codes]
    assert found == [(2, 0), (), (1, -1, 2, 3), (-2, 0, 3)]


def test_blocks_carry_the_probabilities_of_the_rows_handed_over():
    blocks = Blocks.of(CASES["basis-1"], dtype=torch.float32, device=torch.device("cpu"))
    assert sum(blocks.chances.values()) == 1
    assert all(chance > 0 for chance in blocks.chances.values())
    assert blocks.numbers(blocks.tokens).tolist() == list(range(len(blocks.chances)))
