"""One thing is told as one, wherever a command tells a number of things."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from audit.cli import execute

ONE_OF_MANY = re.compile(
    r"(?<![\d.,] )\b(?:1|1 (?:more|coupled|bad|catalogued)) (?!is\b|as\b|this\b)[a-z]+s\b"
)
ROUND = {
    "draft_token_ids": [0],
    "emitted_token_ids": [1],
    "target_probs": [[0.25, 0.75], [0.5, 0.5]],
    "draft_probs": [[0.75, 0.25]],
}


@pytest.mark.parametrize(
    "command",
    [
        ["trace", "rounds.jsonl", "--limit", "1"],
        ["trace", "rounds.jsonl", "bad.jsonl"],
        ["run", "reference", "--cases", "basis-1", "--samples", "1", "-v"],
        ["run", "reference", "--cases", "basis-1", "--limit", "1"],
        ["step", "reference", "--cases", "basis-1", "--samples", "1"],
        ["state", "reference", "--cases", "basis-1", "--sequences", "1", "--watched", "1"],
        ["law", "reference", "--cases", "basis-1", "--coupled", "1"],
    ],
    ids=lambda command: " ".join(command[:2] + command[-2:]),
)
def test_one_is_no_plural(
    command: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("rounds.jsonl").write_text(json.dumps(ROUND) + "\n")
    Path("bad.jsonl").write_text(json.dumps(ROUND | {"emitted_token_ids": []}) + "\n")
    assert execute(command) in (0, 1, 3)
    text = " ".join(capsys.readouterr().out.split())
    assert ONE_OF_MANY.findall(text) == []
