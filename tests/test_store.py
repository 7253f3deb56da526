"""The run directory: chunks survive whole or not at all, and a run is locked to its settings."""

import re
from itertools import chain

import numpy as np
import pytest

from audit.counts import Counts
from audit.errors import UsageError
from audit.harness.collect import Collected
from audit.harness.store import RunDirectory
from audit.harness.togetherness import Together


def collected(seed):
    generator = np.random.default_rng(seed)

    def table(*shape):
        return generator.integers(0, 9, size=shape)

    counts = Counts((table(3, 2, 9), table(1, 2, 4)), (3, 2))
    first = Counts((table(3, 2, 9), table(1, 2, 4)), (3, 2))
    together = (Together(table(n, 8), table(4, 8, 8), table(2, 8, 8)) for n in (3, 1))
    return Collected(counts, first, tuple(together))


def same(a, b):
    return all(
        np.array_equal(x, y)
        for x, y in [
            *zip(a.counts.tables, b.counts.tables, strict=True),
            *zip(a.first_rows.tables, b.first_rows.tables, strict=True),
            *zip(chain(*a.together), chain(*b.together), strict=True),
        ]
    )


def test_a_chunk_comes_back_as_it_was_saved(tmp_path):
    store = RunDirectory(tmp_path / "run", {"seed": 1}, name="audit")
    saved = [collected(1), collected(2)]
    store.save("chunk", saved)
    loaded = RunDirectory(tmp_path / "run", {"seed": 1}, name="audit").load("chunk")
    assert all(same(a, b) for a, b in zip(saved, loaded, strict=True))
    assert loaded[0].counts.bases == (3, 2)
    assert store.load("another") is None


def test_a_copy_of_another_chunk_is_refused(tmp_path):
    store = RunDirectory(tmp_path, {}, name="audit")
    for seed, name in enumerate(("one", "two")):
        store.save(name, [collected(seed)])
    one, two = sorted(tmp_path.glob("*.npz"))
    two.write_bytes(one.read_bytes())
    assert store.load("one")
    with pytest.raises(UsageError, match=r"two-.*\.npz is damaged"):
        store.load("two")


def test_a_torn_chunk_is_never_left_behind(tmp_path, monkeypatch):
    store = RunDirectory(tmp_path, {}, name="audit")
    monkeypatch.setattr(np, "savez_compressed", lambda *_, **__: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        store.save("chunk", [collected(1)])
    assert store.load("chunk") is None


def test_other_settings_are_refused_and_named(tmp_path):
    RunDirectory(tmp_path, {"epsilon": 0.05, "seed": 1}, name="audit")
    with pytest.raises(UsageError, match=r"epsilon was 0\.05 and is now 0\.02"):
        RunDirectory(tmp_path, {"epsilon": 0.02, "seed": 1}, name="audit")
    RunDirectory(tmp_path, {"epsilon": 0.02, "seed": 1}, name="control")
    RunDirectory(tmp_path, {"samples": None}, name="fixed")
    with pytest.raises(UsageError, match="samples was not given and is now 500"):
        RunDirectory(tmp_path, {"samples": 500}, name="fixed")


def test_of_a_table_the_entry_that_changed_is_named(tmp_path):
    locked = {"cases": {"a": "1", "b": "2"}, "sampler": {"hashed": "s.py", "sha256": "a" * 64}}
    RunDirectory(tmp_path, locked, name="audit")
    other = locked | {"sampler": {"hashed": "s.py", "sha256": "b" * 64}}
    told = "the sampler's code (s.py) was aaaaaaaaaaaa and is now bbbbbbbbbbbb, but"
    with pytest.raises(UsageError, match=re.escape(told)):
        RunDirectory(tmp_path, other, name="audit")
    for cases, told in (
        ({"a": "1"}, "case b was left out, but"),
        ({"a": "1", "b": "3", "c": "3"}, "case c was added, case b is another one, but"),
    ):
        with pytest.raises(UsageError, match=told):
            RunDirectory(tmp_path, locked | {"cases": cases}, name="audit")


def test_without_a_folder_nothing_is_kept():
    store = RunDirectory(None, {}, name="audit")
    store.save("chunk", [collected(1)])
    assert store.load("chunk") is None


@pytest.mark.parametrize("damage", [b"", b"PK not a zip", None])
def test_a_damaged_chunk_is_refused_with_its_name(tmp_path, damage):
    store = RunDirectory(tmp_path, {}, name="audit")
    store.save("chunk", [collected(1)])
    (path,) = tmp_path.glob("chunk-*.npz")
    path.write_bytes(path.read_bytes()[:-200] if damage is None else damage)
    with pytest.raises(UsageError, match=r"chunk-.*\.npz is damaged"):
        store.load("chunk")


def test_a_damaged_manifest_and_an_unusable_folder_are_refused(tmp_path):
    RunDirectory(tmp_path, {}, name="audit")
    for damage in ("[1", '{"epsilon": NaN}', '{"epsilon": -Infinity}', "[" * 100_000):
        (tmp_path / "audit.json").write_text(damage)
        with pytest.raises(UsageError, match="damaged"):
            RunDirectory(tmp_path, {}, name="audit")
    with pytest.raises(UsageError, match="name another folder"):
        RunDirectory(tmp_path / "audit.json" / "below", {}, name="audit")


def test_chunks_are_not_taken_over_by_another_manifest(tmp_path):
    RunDirectory(tmp_path, {"sampler": "one"}, name="audit").save("chunk", [collected(1)])
    (tmp_path / "audit.json").unlink()
    assert RunDirectory(tmp_path, {"sampler": "other"}, name="audit").load("chunk") is None
