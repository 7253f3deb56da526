"""What is no longer as it was, in words."""

from __future__ import annotations

from audit.versions import change, code_changes


def test_only_a_hash_is_cut() -> None:
    assert change("x", "a" * 64, "g" * 64) == f"x was {'a' * 12} and is now {'g' * 64!r}"
    assert change("x", "a" * 63, None) == f"x was {'a' * 63!r} and is now not given"


def test_code_is_told_with_the_files_that_are_hashed() -> None:
    before = {"hashed": "s.py", "sha256": "a" * 64, "gone": "1", "torch": "2.4"}
    after = {"hashed": "s.py, t.py", "sha256": "b" * 64, "torch": "2.4"}
    assert code_changes(before, after) == [
        "the sampler's hashed files was 's.py' and is now 's.py, t.py'",
        "the sampler's code (s.py, t.py) was aaaaaaaaaaaa and is now bbbbbbbbbbbb",
        "the sampler's gone was '1' and is now not given",
    ]
    assert code_changes(before, before) == []
