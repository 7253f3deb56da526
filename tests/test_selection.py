"""Choosing cases: ids, globs, groups, files and folders, and what is said where nothing fits."""

import shutil

import pytest

from audit.errors import CaseError, UsageError
from audit.resources import cases_dir
from audit.selection import case_paths, select_cases, word_for

LARGE = ["zipf-1000", "zipf-128256", "zipf-32000"]


TREES = ["tree-basis", "tree-basis-distinct", "tree-fixed", "tree-two-levels", "tree-two-paths"]


def ids(*patterns, drafts=None):
    return [path.stem for path in case_paths(patterns, drafts=drafts)]


def test_nothing_means_the_small_cases():
    small = ids()
    assert small == ids("small")
    assert len(small) >= 20
    assert not set(LARGE) & set(small)
    assert small[0] == "article-three-tokens"


def test_groups():
    assert ids("large") == LARGE
    assert ids("trees") == TREES
    assert sorted(ids("all")) == sorted(ids("small") + LARGE + TREES)


def test_groups_mean_the_cases_that_a_sampler_takes():
    chains, trees = (None,), ("independent", "fixed")
    taken = ["tree-basis", "tree-fixed", "tree-two-paths"]
    assert ids("all", drafts=chains) == [name for name in ids("all") if name not in TREES]
    assert ids(drafts=chains) == ids("small", drafts=chains) == ids("small")
    assert ids(drafts=trees) == ids("trees", drafts=trees) == ids("all", drafts=trees) == taken
    assert ids("trees", drafts=chains) == TREES  # none fits, which the run then says
    assert ids("disjoint", "tree-b*", drafts=trees)[0] == "disjoint"


def test_patterns_keep_their_order_and_each_case_comes_once():
    assert ids("identical", "basis-*", "identical", "basis-1") == [
        "identical",
        "basis-1",
        "basis-2",
    ]
    assert ids("all", "identical") == ids("all")


def test_ids_become_cases():
    assert [case.id for case in select_cases(["identical", "disjoint"])] == [
        "identical",
        "disjoint",
    ]


def test_files_and_folders(tmp_path):
    for name in ("disjoint", "basis-1"):
        shutil.copy(cases_dir() / f"{name}.toml", tmp_path)
    assert ids(str(tmp_path)) == ["basis-1", "disjoint"]
    assert case_paths([str(tmp_path / "disjoint.toml")]) == [tmp_path / "disjoint.toml"]


def test_a_shipped_id_wins_over_a_folder_of_that_name(tmp_path, monkeypatch):
    (tmp_path / "identical").mkdir()
    monkeypatch.chdir(tmp_path)
    assert case_paths(["identical"]) == [cases_dir() / "identical.toml"]


def test_a_users_file_with_a_shipped_id_is_refused_beside_the_shipped_case(tmp_path):
    mine = shutil.copy(cases_dir() / "disjoint.toml", tmp_path / "mine.toml")
    assert select_cases([str(mine)])[0].id == "disjoint"
    with pytest.raises(CaseError, match="has that id"):
        select_cases(["disjoint", str(mine)])


def test_nothing_found_names_the_pattern_and_the_nearest_ids():
    with pytest.raises(UsageError, match='"identcal" names no case; the nearest ids are identical'):
        select_cases(["identcal"])


def test_every_pattern_that_finds_nothing_is_named(tmp_path):
    with pytest.raises(UsageError) as error:
        select_cases(["identical", "", "no-*-such", str(tmp_path), "x" * 10_000, "\x1b[2J"])
    lines = str(error.value).split("\n")
    assert len(lines) == 5
    assert "is a folder without .toml files" in lines[2]
    assert all(line.isprintable() and len(line) < 300 for line in lines)


def test_a_file_that_is_there_is_read_whatever_its_name(tmp_path, monkeypatch):
    (tmp_path / "notes.bin").write_bytes(b"\x00")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(CaseError, match=r"notes\.bin is not a text file"):
        select_cases(["notes.bin"])


def test_a_path_that_is_not_there_is_an_error_about_the_file():
    with pytest.raises(CaseError, match=r"no/such\.toml cannot be read: No such file"):
        select_cases(["no/such.toml"])


def test_a_case_has_a_word_that_selects_it_again(tmp_path):
    (shipped,) = select_cases(["identical"])
    assert word_for(shipped) == "identical"
    copy = tmp_path / "mine.toml"
    copy.write_text((cases_dir() / "identical.toml").read_text())
    (own,) = select_cases([str(copy)])
    assert word_for(own) == str(copy)


def test_a_pattern_with_a_nul_byte_is_a_usage_error():
    with pytest.raises(UsageError, match="names no case"):
        select_cases(["a\0b"])
