"""Every way to name a sampler, what is known of it, and one sentence for every name that fails."""

from __future__ import annotations

import functools
import hashlib
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from importlib import metadata
from pathlib import Path

import pytest
import torch
from exact_instances import seed
from steps import step_batch
from tree_instances import tr1
from tree_steps import tree_batch

from audit.errors import SamplerError, UsageError
from audit.exact.catalogue import rule
from audit.samplers.adapters.listing import TARGETS
from audit.samplers.contract import check_output
from audit.samplers.decoders.faults import KEEPING
from audit.samplers.decoders.loading import load_decoder
from audit.samplers.facts import facts_from
from audit.samplers.faults import FAULTS
from audit.samplers.identity import code_of_files, code_of_module
from audit.samplers.interface import Facts, LoadedSampler
from audit.samplers.listing import list_samplers
from audit.samplers.registry import load_sampler, wrap_sampler
from audit.samplers.rules import RULES, SAMPLERS
from audit.samplers.stepping.loading import load_step, own_names
from audit.samplers.worker.loading import place_of

LEVELS = ("verify", "step", "decode")
GOOD = "import torch\ndef verify(batch, generator):\n    return torch.zeros(3, 3).long()\n"


def call(sampler: LoadedSampler) -> torch.Tensor:
    made = torch.Generator().manual_seed(1)
    trees = sampler.facts.trees
    batch = tree_batch(tr1(trees[0]), 3, made) if trees else step_batch(seed(2), 3, made)
    return check_output(batch, sampler.call(batch, torch.Generator().manual_seed(2)))


# They drop a token or draw from nothing, which breaks the contract of a sampler.
MAY_EMIT_NOTHING = (
    "fault:correction-missing",
    "fault:block-product-as-height",
    "fault:block-residual-of-longer-prefix",
)


def test_every_listed_sampler_of_ours_loads_and_runs_here():
    rows = list_samplers()
    forms = ["module:object", "path/to/file.py:object", "process:COMMAND"]
    assert [row.name for row in rows][-3:] == forms
    ours = [row for row in rows if row.found == "built in"]
    for name in (row.name for row in ours if "verify" in row.levels):
        sampler = load_sampler(name)
        if name not in MAY_EMIT_NOTHING:
            assert call(sampler).shape == (3, 2 if sampler.facts.trees else 3)
        assert sampler.facts.in_process
        assert sampler.identity["runs in"] == "the auditing process"


def test_the_list_says_level_drafts_and_version():
    rows = {row.name: row for row in list_samplers()}
    assert rows["rule:block"].drafts == "chain"
    assert rows["rule:target-only"].drafts == "tree, distinct or fixed"
    built_in = [row for row in rows.values() if row.found == "built in"]
    assert rows["transformers"].found == f"transformers {metadata.version('transformers')}"
    assert rows["reference"].found == "built in"
    assert len([row for row in built_in if "verify" in row.levels]) == 1 + len(SAMPLERS)
    assert rows["process:COMMAND"].levels == ("verify",)
    assert rows["module:object"].levels == rows["path/to/file.py:object"].levels == LEVELS


def test_the_list_names_what_each_level_loads():
    names = [row.name for row in list_samplers()]
    assert len(names) == len(set(names))
    listed = {
        level: {row.name for row in list_samplers()[:-3] if level in row.levels} for level in LEVELS
    }
    by_package = {
        level: {name for name, target in TARGETS.items() if level in target.levels}
        for level in LEVELS
    }
    rules = {f"rule:{id_}" for id_ in RULES}
    faults = {f"fault:{id_}" for id_ in FAULTS}
    states = {f"fault:{id_}" for id_ in KEEPING} - {"fault:correct"}
    both = {"reference", "transformers"}
    assert listed["verify"] == both | rules | faults | by_package["verify"]
    assert listed["step"] == {*own_names()} | by_package["step"]
    assert listed["decode"] == both | states | by_package["decode"]


@pytest.mark.parametrize(
    ("load", "spec", "command"),
    [
        (load_sampler, "fault:beam-draft", "step"),
        (load_sampler, "fault:target-misses-bonus", "state"),
        (load_step, "rule:target-only", "run"),
        (load_step, "transformers", "run"),
        (load_decoder, "fault:reversed-residual", "run"),
    ],
)
def test_a_name_of_another_level_says_which_command_audits_it(load, spec, command):
    with pytest.raises(UsageError, match=f"is not offered .* `draftproof {command} {spec}`"):
        load(spec)


@pytest.mark.parametrize("id_", sorted(SAMPLERS))
def test_rules_declare_themselves_and_faults_nothing(id_):
    name = f"rule:{id_}" if id_ in RULES else f"fault:{id_}"
    facts = load_sampler(name).facts
    assert facts.declares == ((id_,) if id_ in RULES else ())
    assert facts.trees == rule(id_).trees
    assert facts.ragged != bool(facts.trees)


def test_a_constant_belongs_to_name_and_identity():
    listed, moved = load_sampler("fault:lenience"), load_sampler("fault:lenience@0.3")
    assert moved.name == moved.identity["spec"] == "fault:lenience@3/10"
    assert (listed.identity["constant"], moved.identity["constant"]) == ("1/2", "3/10")
    assert "constant" not in load_sampler("reference").identity
    assert load_sampler("rule:k-seq@2").facts.declares == ("k-seq@2",)
    assert call(moved).shape == (3, 3)


def test_the_reference_is_the_ratio_rule():
    reference = load_sampler("reference")
    assert reference.call is load_sampler("rule:ratio").call
    assert reference.facts.declares == ("ratio",)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("refrence", "'refrence'; did you mean reference?"),
        ("transformer", "'transformer'; did you mean transformers?"),
        ("rule:ratoi", "did you mean rule:ratio"),
        ("rule:always-accept", "did you mean fault:always-accept"),
        ("fault:", "did you mean fault:"),
        ("rule:lenience@1/2", "did you mean fault:lenience"),
        ("fault:lenience@2", "must be a number from 1/100 to 1"),
        ("fault:shared-coin@2", "it has no constant"),
        ("reference@2", "it has no constant"),
        ("", "known are reference"),
        ("my_sampler.py", "names a file but no function of it"),
    ],
)
def test_an_unknown_name_is_answered_with_the_nearest(name, said):
    with pytest.raises(UsageError) as caught:
        load_sampler(name)
    assert said in str(caught.value)


# What a file may hold, the object asked for, the error and its sentence (after the path).
BROKEN = [
    ("x = 1", "verify", UsageError, "has no object 'verify'; it defines x."),
    ("verify = 3", "verify", UsageError, "is of type int, which is not callable; name a function"),
    ("def verify(:\n", "verify", SamplerError, "failed: SyntaxError: "),
    ("import no_such_thing", "verify", SamplerError, "No module named 'no_such_thing' (line 1 of"),
    ("1 / 0", "verify", SamplerError, "failed: ZeroDivisionError: division by zero (line 1 of"),
    ("exit(3)", "verify", SamplerError, "failed: SystemExit: 3"),
    ("class verify:\n    def __init__(self, n): pass", "verify", SamplerError, "TypeError: "),
    ("class verify: pass", "verify", UsageError, "is of type verify, which is not callable"),
]


@pytest.mark.parametrize(("text", "name", "error", "said"), BROKEN)
def test_what_cannot_be_loaded_has_one_sentence(tmp_path, text, name, error, said):
    file = tmp_path / "sample.py"
    file.write_text(text)
    with pytest.raises(error) as caught:
        load_sampler(f"{file}:{name}", in_process=True)
    assert said in str(caught.value)
    assert str(file) in str(caught.value)
    assert "\n" not in str(caught.value)
    if error is SamplerError:
        assert caught.value.detail
        assert "loading.py" not in caught.value.detail


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("no/such/file.py:verify", "no/such/file.py is not a file"),
        ("no_such_module:verify", "no module 'no_such_module' can be imported from here."),
        ("math:no_such", "math has no object 'no_such'; it defines"),
    ],
)
def test_what_is_not_there_is_said(spec, said):
    with pytest.raises(UsageError) as caught:
        load_sampler(spec, in_process=True)
    assert said in str(caught.value)


def test_a_worker_says_the_same(tmp_path):
    text, name, error, said = BROKEN[4]
    (tmp_path / "sample.py").write_text(f"print('hello')\n{text}")
    with pytest.raises(error) as caught:
        load_sampler(f"{tmp_path / 'sample.py'}:{name}")
    assert said.replace("line 1", "line 2") in str(caught.value)
    assert "1 / 0" in caught.value.detail
    assert caught.value.detail.endswith("hello\n")


def test_a_python_that_cannot_be_started_is_a_usage_error(tmp_path):
    with pytest.raises(UsageError, match="no-python cannot be started: No such file"):
        load_sampler("math:sin", python=str(tmp_path / "no-python"))


@pytest.mark.parametrize(
    "text",
    [
        "verify = lambda batch, generator: torch.zeros(3, 3).long()",
        "class verify:\n    def __call__(self, *_): return torch.zeros(3, 3).long()",
        "class A:\n    @staticmethod\n    def f(*_): return torch.zeros(3, 3).long()\nverify = A.f",
    ],
    ids=["lambda", "class", "static method"],
)
def test_any_callable_will_do(tmp_path, text):
    (tmp_path / "sample.py").write_text(f"import torch\n{text}\n")
    sampler = load_sampler(f"{tmp_path / 'sample.py'}:verify", in_process=True)
    assert call(sampler).tolist() == [[0, 0, 0]] * 3
    assert sampler.facts == Facts(in_process=True)


def test_an_edited_file_is_run_and_hashed_as_it_is_now(tmp_path):
    file = tmp_path / "sample.py"
    for number in (1, 2):
        file.write_text(GOOD.replace("torch.zeros(3, 3)", f"torch.full((3, 3), {number})"))
        sampler = load_sampler(f"{file}:verify", in_process=True)
        assert call(sampler)[0, 0] == number
        assert sampler.identity["sha256"] == hashlib.sha256(file.read_bytes()).hexdigest()
        assert sampler.identity["hashed"] == "sample.py"
    assert not (tmp_path / "__pycache__").exists()


def test_a_worker_reports_facts_and_identity(tmp_path):
    file = tmp_path / "sample.py"
    file.write_text(
        f"{GOOD}verify.draftproof = {{'declares': ['ratio', 'block'], 'max_batch': 7}}\n"
    )
    sampler = load_sampler(f"{file}:verify")
    try:
        assert sampler.facts == Facts(declares=("ratio", "block"), max_batch=7)
        assert sampler.identity == {
            "spec": f"{file}:verify",
            "runs in": "a worker process",
            "python": sampler.identity["python"],
            "torch": torch.__version__,
            **code_of_files({"sample.py": file}),
        }
        assert call(sampler).tolist() == [[0, 0, 0]] * 3
    finally:
        sampler.close()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"declare": ["ratio"]}, "unknown key 'declare'; did you mean declares?"),
        ({"declares": "ratio"}, "must be a list of rule ids"),
        ({"trees": True}, "must be a list of any of independent, distinct, fixed"),
        ({"trees": ["indepedent"]}, "must be a list of any of independent, distinct, fixed"),
        ({"declares": ["ratoi"]}, "declares an unknown rule 'ratoi'; did you mean ratio?"),
        ({"declares": ["always-accept"]}, "declares an unknown rule 'always-accept'"),
        ({"claims": "lenienc"}, "claims an unknown law 'lenienc'; did you mean lenience"),
        ({"claims": "lenience@2"}, "must be a number from 1/100 to 1"),
        ({"claims": "ratio@2"}, "claims an unknown law: "),
        ({"declares": ["ratio@2"]}, "declares an unknown rule: "),
        ({"max_batch": 0}, "must be a whole number above 0, or None"),
        ({"max_batch": True}, "must be a whole number above 0, or None"),
        ({"ragged": 1}, "draftproof['ragged'] is 1; it must be True or False"),
        ([], "is of type list; make it a dict"),
    ],
)
def test_wrong_facts_have_one_sentence(given, said):
    with pytest.raises(UsageError) as caught:
        facts_from(given, name="mine")
    assert said in str(caught.value)


def test_a_law_at_another_constant_can_be_claimed():
    assert facts_from({"claims": "lenience@3/10"}, name="mine").claims == "lenience@3/10"
    assert facts_from({"declares": ["k-seq@2"]}, name="mine").declares == ("k-seq@2",)


def test_facts_that_are_right_are_taken():
    given = {"declares": ["ratio"], "claims": "lenience", "contiguous": True, "ragged": True}
    assert facts_from(given, name="mine") == Facts(
        ("ratio",), "lenience", contiguous=True, ragged=True
    )
    assert facts_from({}, name="mine") == Facts()


def test_an_object_of_this_process_can_be_wrapped():
    def verify(batch, generator):
        return SAMPLERS["ratio"](batch, generator)

    verify.draftproof = {"declares": ["ratio"]}
    sampler = wrap_sampler(verify)
    assert call(sampler).shape == (3, 3)
    assert sampler.facts == Facts(declares=("ratio",), in_process=True)
    assert sampler.identity["hashed"].startswith("test_registry.py, and the code")
    sampler.close()


def identities(sampler: object) -> Mapping[str, str]:
    """Returns the identity of an object, which must be the same a second time."""
    assert wrap_sampler(sampler).identity == wrap_sampler(sampler).identity
    return wrap_sampler(sampler).identity


def defined(file: Path, text: str) -> object:
    """Returns `verify` as the file defines it."""
    file.write_text(text)
    names: dict[str, object] = {"__name__": "defined_for_a_test"}
    exec(compile(text, str(file), "exec"), names)
    return names["verify"]


MAKER = """
import functools
def make(number, more=()):
    def verify(batch, generator, offset={offset}):
        return [n + number + offset for n in more if n in {{'a', 'b', 'c'}}]
    return verify
verify = make({number})
"""


@pytest.mark.parametrize(
    "other", [{"number": 2}, {"offset": 1}], ids=["another closure", "another default"]
)
def test_what_a_function_holds_belongs_to_its_identity(tmp_path, other):
    file, same = tmp_path / "mine.py", {"number": 1, "offset": 0}
    first = identities(defined(file, MAKER.format(**same)))
    changed = defined(file, MAKER.format(**{**same, **other}))
    defined(file, MAKER.format(**same))  # the source file is as it was
    assert first["hashed"].startswith("mine.py, ")
    assert identities(defined(file, MAKER.format(**same))) == first
    assert identities(changed)["sha256"] != first["sha256"]


def test_the_code_that_runs_and_the_source_file_both_belong_to_the_identity(tmp_path):
    file = tmp_path / "mine.py"
    text = "def verify(*_): return help()\ndef help(): return 1\n"
    first = defined(file, text)
    before = identities(first)["sha256"]
    file.write_text(text.replace("1", "2"))
    assert identities(first)["sha256"] != before
    edited = defined(file, "def verify(*_): return gain()\ndef gain(): return 1\n")
    file.write_text(text)
    assert identities(edited)["sha256"] != before


class Shift:
    """A callable with a state."""

    def __init__(self, by: int) -> None:
        self.by, self.odd, self.me = by, object(), self

    def __call__(self, batch, generator):
        return batch.draft_token_ids + self.by


def test_methods_partials_and_instances_are_told_apart_by_what_they_hold():
    makers = (
        Shift,
        lambda by: Shift(by).__call__,
        lambda by: functools.partial(SAMPLERS["ratio"], shift={"by": by}),
        lambda by: torch.no_grad()(Shift(by)),
    )
    for make in makers:
        assert identities(make(1)) == identities(make(1))
        assert identities(make(1))["sha256"] != identities(make(2))["sha256"]


def typed_in() -> object:
    names: dict[str, object] = {"torch": torch}
    exec("def verify(batch, generator): return torch.ones(3, 3)", names)
    return names["verify"]


@pytest.mark.parametrize(
    ("sampler", "said"),
    [
        (torch.add, "nothing, for a builtin_function_or_method has no source file"),
        (typed_in(), "nothing, for verify has no source file"),
        (torch.no_grad()(typed_in()), "nothing, for verify has no source file"),
        (functools.partial(torch.add, 1), "nothing, for a partial has no source file"),
    ],
)
def test_code_without_a_source_file_is_not_identified(sampler, said):
    identity = wrap_sampler(sampler).identity
    assert identity["hashed"] == said
    assert "sha256" not in identity


def test_an_identity_is_the_same_in_every_process(tmp_path):
    file = tmp_path / "mine_elsewhere.py"
    defined(file, MAKER.format(number=1, offset=0))
    shown = (
        "from mine_elsewhere import verify; import audit.samplers.identity_of_object as own; "
        "print(own.code_of_object(verify)['sha256'])"
    )
    path = os.pathsep.join([str(tmp_path), str(Path(__file__).parent.parent)])
    hashes = set()
    for hash_seed in "12":
        env = {**os.environ, "PYTHONPATH": path, "PYTHONHASHSEED": hash_seed}
        command = [sys.executable, "-c", shown]
        done = subprocess.run(command, check=True, capture_output=True, text=True, env=env)
        hashes.add(done.stdout)
    assert len(hashes) == 1


@pytest.fixture
def imports(monkeypatch) -> Iterator[None]:
    """Forgets after a test what it has imported, and where from."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    before = set(sys.modules)
    yield
    for name in sys.modules.keys() - before:
        del sys.modules[name]


def write_helpers(folder: Path, number: int) -> None:
    """Writes a sampler that imports a helper, a package below it, and an installed module."""
    (folder / "deep").mkdir(exist_ok=True)
    installed = folder / "lib" / "site-packages"
    installed.mkdir(parents=True, exist_ok=True)
    (installed / "installed_for_a_test.py").write_text(f"x = {number}")
    (folder / "not_imported.py").write_text(f"x = {number}")
    (folder / "helper_for_a_test.py").write_text("import deep.part\nverify = deep.part.verify\n")
    (folder / "deep" / "part.py").write_text(f"{GOOD}x = {number}\n")
    (folder / "mine.py").write_text(
        f"import sys; sys.path.append({str(installed)!r}); import installed_for_a_test\n"
        "from helper_for_a_test import verify\n"
    )


@pytest.mark.usefixtures("imports")
@pytest.mark.parametrize(
    ("place", "in_process", "hashed"),
    [
        ("mine.py", True, "deep/part.py, helper_for_a_test.py, mine.py"),
        ("mine.py", False, "deep/part.py, helper_for_a_test.py, mine.py"),
        ("mine", True, "1 modules of mine and deep/part.py, helper_for_a_test.py"),
    ],
)
def test_the_modules_beside_a_sampler_belong_to_its_identity(
    tmp_path, monkeypatch, place, in_process, hashed
):
    monkeypatch.chdir(tmp_path)

    def identity() -> Mapping[str, str]:
        sampler = load_sampler(f"{place}:verify", in_process=in_process)
        sampler.close()
        return sampler.identity

    write_helpers(tmp_path, 1)
    first = identity()
    assert first["hashed"] == hashed
    for unseen in ("not_imported.py", "lib/site-packages/installed_for_a_test.py"):
        (tmp_path / unseen).write_text("x = 2")
    assert identity() == first
    (tmp_path / "deep" / "part.py").write_text(f"{GOOD}x = 22\n")
    assert identity()["sha256"] != first["sha256"]


def test_a_module_is_hashed_with_all_of_its_distribution():
    file = Path(metadata.distribution("click").locate_file("click/core.py"))
    code = code_of_module("click.core", file)
    assert code["hashed"].endswith(f"modules of click {metadata.version('click')}")
    assert code == code_of_module("click", file.with_name("__init__.py"))


def test_a_package_without_distribution_is_hashed_as_a_whole(tmp_path):
    package = tmp_path / "mine"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "core.py").write_text("x = 1")
    before = code_of_module("mine.core", package / "core.py")
    assert before["hashed"] == "2 modules of mine"
    (package / "notes.txt").write_text("no code")
    assert code_of_module("mine", package / "__init__.py") == before
    (package / "core.py").write_text("x = 2")
    assert code_of_module("mine", package / "__init__.py")["sha256"] != before["sha256"]


def test_the_ids_of_rules_and_faults_are_the_listed_ones():
    names = {row.name for row in list_samplers()}
    assert {f"rule:{i}" for i in RULES} | {f"fault:{i}" for i in FAULTS} <= names


def verify_here(batch, generator):
    """A sampler with a line of its own."""


class CallableHere:
    def __call__(self, batch, generator):
        """A sampler with a line of its own."""


class ModuleHere(torch.nn.Module):
    def forward(self, batch, generator):
        """A sampler with a line of its own."""


class HostileHere:
    def __getattr__(self, name):
        raise RuntimeError("no attribute is safe to read")


@functools.wraps(verify_here)
def wrapped_here(*arguments):
    return verify_here(*arguments)


@pytest.mark.parametrize(
    ("sampler", "code"),
    [
        (verify_here, verify_here),
        (wrapped_here, verify_here),
        (functools.partial(verify_here, None), verify_here),
        (CallableHere(), CallableHere.__call__),
        (CallableHere().__call__, CallableHere.__call__),
        (ModuleHere(), ModuleHere.forward),
    ],
)
def test_the_place_of_a_sampler_is_its_own_code(sampler, code):
    assert place_of(sampler) == (__file__, code.__code__.co_firstlineno)


def test_what_has_no_code_has_no_place():
    for sampler in (print, functools.partial(max), HostileHere()):
        assert place_of(sampler) == ("", 0)


def test_a_sampler_in_the_repository_has_a_source_and_ours_have_none(monkeypatch):
    monkeypatch.chdir(Path(__file__).parent.parent)
    line = CallableHere.__call__.__code__.co_firstlineno
    assert wrap_sampler(CallableHere()).source.endswith(f"tests/test_registry.py:{line}")
    assert load_sampler("reference").source == ""
