"""Samplers of draft trees, audited end to end on the shipped cases.

An audit accuses a right sampler with a chance of at most alpha = 1e-6; the controls beside the
right ones and the faults below must fail.
"""

import dataclasses
from pathlib import Path

import pytest
import torch

from audit.cli import execute
from audit.errors import UsageError
from audit.recordfile import read_record
from audit.render.html import page
from audit.run import run_audit
from audit.samplers.rules import SAMPLERS
from audit.samplers.trees import RULES
from audit.settings import Settings
from audit.tree import Tree
from audit.verdict import Outcome

SMOKE = Settings(tier="smoke")
EXAMPLE = Path(__file__).parent.parent / "examples" / "my_tree_sampler.py"
recursive = RULES["recursive-rejection"]


def declared(call, **facts):
    """The callable as a sampler of independent siblings."""
    call.draftproof = {"trees": ["independent"], **facts}
    return call


@pytest.mark.parametrize(
    ("rule", "case", "control"),
    [
        ("recursive-rejection", "tree-basis", "siblings-full-target-fallback"),
        ("recursive-rejection-distinct", "tree-basis-distinct", "distinct-full-target-fallback"),
        ("target-only", "tree-basis-distinct", "tree-threshold-single"),
        ("target-only", "tree-fixed", "fixed-full-target-fallback"),
        ("tree-sampler-match", "tree-two-paths", "siblings-full-target-fallback"),
        ("traversal", "tree-two-levels", "traversal-without-update"),
        ("k-seq", "tree-basis", "k-seq-rho-too-small"),
    ],
)
def test_a_right_rule_passes_beside_a_control_that_fails(rule, case, control):
    settings = dataclasses.replace(SMOKE, epsilon=0.04)  # tree-two-levels sees little of more
    done = run_audit(f"rule:{rule}", cases=[case], control=control, settings=settings)
    assert done.verdict.outcome is Outcome.PASS
    assert done.record.control.verdict.outcome is Outcome.FAIL
    assert done.exit_code == 0
    (result,) = done.record.cases
    assert rule in result.evidence.rules_observed
    assert result.evidence.conformity.declared == (rule,)


@pytest.mark.parametrize(
    ("fault", "case"),
    [
        ("siblings-target-not-updated", "tree-basis"),
        ("longest-accepted-path", "tree-two-paths"),
        ("distinct-sorted-by-draft", "tree-basis-distinct"),
        ("bonus-from-first-path", "tree-two-levels"),
        ("fixed-drafts-ratio-tested", "tree-fixed"),
    ],
)
def test_a_fault_fails(fault, case):
    done = run_audit(f"fault:{fault}", cases=[case], settings=SMOKE)
    assert (done.verdict.outcome, done.exit_code) == (Outcome.FAIL, 1)


def test_the_cases_are_those_that_a_sampler_takes():
    look = dataclasses.replace(SMOKE, limit=50)
    done = run_audit("rule:target-only", settings=look)
    assert list(done.verdicts) == ["tree-basis-distinct", "tree-fixed", "tree-two-levels"]
    assert list(run_audit("rule:target-only", cases=["all"], settings=look).verdicts) == list(
        done.verdicts
    )


@pytest.mark.parametrize(
    ("sampler", "case", "said"),
    [
        (
            "reference",
            "tree-basis",
            "case tree-basis drafts trees of independent siblings, but ref",
        ),
        ("rule:target-only", "disjoint", "takes trees of distinct siblings or trees of fixed"),
        ("rule:traversal", "tree-fixed", "--cases trees are the shipped ones"),
    ],
)
def test_a_case_that_a_sampler_does_not_take_is_refused(sampler, case, said):
    with pytest.raises(UsageError, match=said):
        run_audit(sampler, cases=[case], settings=SMOKE)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"control": "full-target-fallback"}, "control full-target-fallback verifies chains, but"),
        ({"declares": "ratio"}, "declared rule ratio verifies chains, but the selected cases"),
        ({"declares": "no-such-rule"}, 'no rule or fault is called "no-such-rule"'),
    ],
)
def test_a_rule_for_other_drafts_is_refused(change, said):
    declares = tuple(filter(None, [change.get("declares")]))
    settings = dataclasses.replace(SMOKE, declares=declares)
    with pytest.raises(UsageError, match=said):
        run_audit("rule:recursive-rejection", control=change.get("control"), settings=settings)


def test_another_lossless_rule_than_the_declared_one_fails_conformity_alone():
    match = RULES["tree-sampler-match"]

    def sampler(batch, generator):
        return match(batch, generator)

    declared(sampler, declares=["recursive-rejection"])
    done = run_audit(sampler, cases=["tree-basis"], settings=SMOKE)
    assert done.verdict.outcome is Outcome.FAIL
    assert "does not follow the declared rule recursive-rejection" in done.verdict.sentence
    (result,) = done.record.cases
    assert result.evidence.gate.log_e_max < result.evidence.gate.log_threshold
    trace = result.evidence.conformity.traces[0]
    assert trace.startswith("draft [")
    assert trace.endswith("recursive-rejection cannot")


def overwrites(batch, generator):
    tokens = recursive(batch, generator)
    batch.parents[0] = 99
    return tokens


def leaves_rows_empty(batch, generator):
    tokens = recursive(batch, generator)
    return tokens.masked_fill(tokens[:, :1] == 0, -1)


def too_wide(batch, generator):
    return torch.nn.functional.pad(recursive(batch, generator), (0, 1), value=-1)


def counts_nodes(batch, generator):
    tokens = recursive(batch, generator)
    return tokens, torch.full((len(tokens),), 2)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (overwrites, "wrote into its input parents"),
        (leaves_rows_empty, "it emits no token"),
        (too_wide, "returned shape [64, 3] for tokens; return an int64 tensor [64, 2]"),
        (counts_nodes, "row 0 says 2 accepted, but 0 to 1 are possible"),
    ],
)
def test_a_broken_contract_is_an_error_with_a_sentence(call, said):
    look = dataclasses.replace(SMOKE, limit=200)
    done = run_audit(declared(call), cases=["tree-basis"], settings=look)
    assert (done.verdict.outcome, done.exit_code) == (Outcome.ERROR, 4)
    assert said in done.verdict.sentence


def test_parents_overwritten_around_torch_reach_nothing_but_the_sampler():
    def right(batch, generator):
        return recursive(batch, generator)

    def scribbling(batch, generator):
        tokens = recursive(batch, generator)
        batch.parents.numpy()[:] = 99
        return tokens

    look = dataclasses.replace(SMOKE, limit=200)
    one, other = (
        run_audit(declared(call), cases=["tree-basis"], settings=look).record.cases[0].counts
        for call in (right, scribbling)
    )
    assert one == other


def test_a_sampler_may_return_the_numbers_accepted():
    def counting(batch, generator):
        tokens = recursive(batch, generator)
        return tokens, (tokens >= 0).sum(1) - 1

    done = run_audit(declared(counting), cases=["tree-two-paths"], settings=SMOKE)
    assert done.verdict.outcome is Outcome.PASS


def test_a_rule_lossy_by_declaration_is_judged_by_its_own_law():
    def lossy(batch, generator):
        return SAMPLERS["tree-threshold-acc"](batch, generator)

    lossy.draftproof = {"trees": ["fixed"], "claims": "tree-threshold-acc"}
    done = run_audit(lossy, settings=SMOKE)
    assert done.verdict.outcome is Outcome.PASS
    assert done.verdict.sentence.startswith("as declared (tree-threshold-acc); TV of that law to")
    lossy.draftproof = {"trees": ["independent"], "claims": "tree-threshold-acc"}
    with pytest.raises(UsageError, match='"tree-threshold-acc" verifies trees of distinct'):
        run_audit(lossy, settings=SMOKE)


def test_a_pass_on_several_shapes_names_the_faults_of_each_that_it_does_not_exclude():
    done = run_audit("rule:tree-sampler-match", settings=SMOKE)
    assert done.verdict.outcome is Outcome.PASS
    # algorithms.md, section 4: TV 1/75 on TR1 for independent, 17/420 for distinct siblings.
    assert {"siblings-one-coin", "distinct-one-coin"} <= set(done.record.not_excluded)


def test_a_generator_that_restarts_is_dependent():
    def frozen(batch, generator):
        return recursive(batch, torch.Generator().manual_seed(4))

    done = run_audit(declared(frozen), cases=["tree-basis"], settings=SMOKE)
    assert done.verdict.outcome is Outcome.DEPENDENT


def test_contiguous_rows_and_other_dtypes_change_nothing():
    def looking(batch, generator):
        assert batch.target_probs.is_contiguous()
        return recursive(batch, generator)

    settings = dataclasses.replace(SMOKE, dtype="bfloat16")
    done = run_audit(declared(looking, contiguous=True), cases=["tree-basis"], settings=settings)
    assert done.verdict.outcome is Outcome.PASS


def test_a_run_directory_resumes_to_the_same_record(tmp_path):
    folder, cases = tmp_path / "run", ["tree-basis-distinct"]
    settings = dataclasses.replace(SMOKE, epsilon=0.022, method="sampled")
    spec = "rule:recursive-rejection-distinct"
    first = run_audit(spec, cases=cases, settings=settings, run_dir=folder)
    kept = {path.name: path.stat().st_mtime_ns for path in folder.glob("*.npz")}
    larger = dataclasses.replace(settings, tier="ci")
    again = run_audit(spec, cases=cases, settings=larger, run_dir=folder)
    alone = run_audit(spec, cases=cases, settings=larger)
    assert first.verdict.outcome is Outcome.INCONCLUSIVE
    assert again.verdict.outcome is Outcome.PASS
    assert again.record.cases[0].counts == alone.record.cases[0].counts
    assert kept.items() <= {p.name: p.stat().st_mtime_ns for p in folder.glob("*.npz")}.items()


def test_the_example_passes_in_a_worker_and_its_page_tells_of_the_tree(tmp_path, capsys):
    out = tmp_path / "out.json"
    command = ["run", f"{EXAMPLE}:verify", "--cases", "tree-two-paths", "--tier", "smoke"]
    assert execute([*command, "--json", str(out)]) == 0
    assert "tree-two-paths" in capsys.readouterr().out
    record = read_record(out)
    assert record.cases[0].tree == Tree((-1, -1, 0, 1), "independent")
    assert record.sampler.identity["runs in"] == "a worker process"
    assert "a tree of 4 nodes, depth 2, independent siblings" in page(record)


def test_a_record_of_a_tree_is_repeated(tmp_path):
    out = tmp_path / "out.json"
    execute(["run", "rule:k-seq", "--limit", "100", "-q", "--json", str(out)])
    assert execute(["rerun", str(out), "-q", "--exit-zero"]) == 0


def test_the_example_without_its_residual_fails(tmp_path):
    wrong = EXAMPLE.read_text().replace("owed - draft_row", "owed")
    (tmp_path / "wrong.py").write_text(wrong)
    command = ["run", f"{tmp_path}/wrong.py:verify", "--tier", "smoke", "-q", "--in-process"]
    assert execute([*command, "--cases", "tree-basis"]) == 1
