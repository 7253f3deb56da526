"""Whether two vocabularies mean the same: equal width is not enough, and a map is checked."""

from __future__ import annotations

import json

import pytest

from audit.errors import UsageError
from audit.state.vocabulary import (
    compare_files,
    compare_vocabularies,
    read_map,
    read_vocabulary,
    vocabulary_hash,
)

TARGET = ["<s>", "a", "b", "ab"]


def test_equal_vocabularies_and_a_narrower_draft_match() -> None:
    match = compare_vocabularies(TARGET, TARGET)
    assert match.same
    assert match.target_hash == match.draft_hash
    assert compare_vocabularies(TARGET, TARGET[:2]).same


def test_equal_width_with_permuted_tokens_is_found() -> None:
    match = compare_vocabularies(TARGET, ["<s>", "b", "a", "ab"])
    assert not match.same
    assert match.different == 2
    assert match.target_hash != match.draft_hash
    assert match.differing[0] == "draft 1 'b' is target 1 'a'"


def test_a_wider_draft_has_ids_that_mean_nothing() -> None:
    match = compare_vocabularies(TARGET[:3], TARGET)
    assert match.differing == ("draft 3 'ab' is mapped to 3, which is no target id",)


def test_a_declared_map_is_checked_token_by_token() -> None:
    assert compare_vocabularies(TARGET, ["ab", "<s>"], [3, 0]).same
    assert compare_vocabularies(TARGET, ["ab", "<s>"], [0, 3]).different == 2
    with pytest.raises(UsageError, match="1 entries for a draft vocabulary of 2"):
        compare_vocabularies(TARGET, ["ab", "<s>"], [0])


def test_the_hash_sees_where_a_token_ends() -> None:
    assert vocabulary_hash(["ab", "c"]) != vocabulary_hash(["a", "bc"])
    assert vocabulary_hash(["\ud800"]) != vocabulary_hash([""])


def test_files_in_every_form(tmp_path) -> None:
    forms = {
        "list": TARGET,
        "object": {token: i for i, token in enumerate(TARGET)},
        "wordpiece": {"model": {"vocab": {"<s>": 0, "a": 1, "b": 2}},
                      "added_tokens": [{"id": 3, "content": "ab"}]},
        "unigram": {"model": {"vocab": [[token, -1.0] for token in TARGET]}},
    }  # fmt: skip
    for name, data in forms.items():
        (tmp_path / name).write_text(json.dumps(data))
        assert read_vocabulary(tmp_path / name) == TARGET, name
    (tmp_path / "gap").write_text('{"a": 0, "c": 2}')
    assert read_vocabulary(tmp_path / "gap") == ["a", "", "c"]
    (tmp_path / "map").write_text("[0, 1, 2, 3]")
    both = (tmp_path / "list", tmp_path / "object")
    match = compare_files(both, tmp_path / "map")
    assert match is not None
    assert match.same
    assert compare_files(None, None) is None


@pytest.mark.parametrize("text", ["{", '{"a": "b"}', "3", "[]", "{}", '{"model": {}}'])
def test_files_that_are_none_are_refused(tmp_path, text: str) -> None:
    (tmp_path / "broken").write_text(text)
    with pytest.raises(UsageError, match=r"broken (is not JSON|holds no vocabulary)"):
        read_vocabulary(tmp_path / "broken")


def test_maps_and_paths_that_are_none_are_refused(tmp_path) -> None:
    (tmp_path / "map").write_text('["a"]')
    with pytest.raises(UsageError, match="not a JSON list of ids"):
        read_map(tmp_path / "map")
    with pytest.raises(UsageError, match="cannot be read"):
        read_map(tmp_path / "nothing")
    with pytest.raises(UsageError, match="needs --vocabularies"):
        compare_files(None, tmp_path / "map")
