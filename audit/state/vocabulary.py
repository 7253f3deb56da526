"""Whether draft and target mean the same tokens by the same ids.

Two vocabularies of one width may still differ, and a wrong map loses acceptance or the law,
depending on where it is used. So what is compared is the token behind every id, not the width.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from audit.errors import UsageError, unparsed

_SHOWN = 3


@dataclass(frozen=True)
class VocabularyMatch:
    """How two vocabularies compare; `differing` holds the first ids whose tokens differ.

    same: every draft id stands for the target's token of the id that it is mapped to.
    """

    same: bool
    target_size: int
    draft_size: int
    target_hash: str
    draft_hash: str
    different: int
    differing: tuple[str, ...] = ()


def vocabulary_hash(tokens: Sequence[str]) -> str:
    """Returns the SHA-256 of the tokens in the order of their ids.

    >>> vocabulary_hash(["a", "b"]) == vocabulary_hash(["b", "a"])
    False
    """
    digest = hashlib.sha256()
    for token in tokens:
        data = token.encode("utf-8", "surrogatepass")
        digest.update(len(data).to_bytes(8, "little") + data)
    return digest.hexdigest()


def compare_vocabularies(
    target: Sequence[str], draft: Sequence[str], draft_to_target: Sequence[int] | None = None
) -> VocabularyMatch:
    """Returns how the tokens of two models compare, id by id or along a declared map.

    draft_to_target: the target's id for every id of the draft; by default the ids are the same
    and the draft must not be wider.

    >>> compare_vocabularies(["a", "b", "c"], ["a", "c"], [0, 2]).same
    True
    >>> compare_vocabularies(["a", "b", "c"], ["a", "c", "b"]).differing
    ("draft 1 'c' is target 1 'b'", "draft 2 'b' is target 2 'c'")
    """
    mapped = range(len(draft)) if draft_to_target is None else draft_to_target
    if len(mapped) != len(draft):
        raise UsageError(
            f"the map has {len(mapped)} entries for a draft vocabulary of {len(draft)}; give the "
            "target's id of every draft id."
        )
    wrong = [
        f"draft {own} {token!r} is target {other} {target[other]!r}"
        if 0 <= other < len(target)
        else f"draft {own} {token!r} is mapped to {other}, which is no target id"
        for own, (token, other) in enumerate(zip(draft, mapped, strict=True))
        if not 0 <= other < len(target) or target[other] != token
    ]
    return VocabularyMatch(
        same=not wrong,
        target_size=len(target),
        draft_size=len(draft),
        target_hash=vocabulary_hash(target),
        draft_hash=vocabulary_hash(draft),
        different=len(wrong),
        differing=tuple(wrong[:_SHOWN]),
    )


def compare_files(
    vocabularies: tuple[Path, Path] | None, draft_to_target: Path | None
) -> VocabularyMatch | None:
    """Returns how the vocabularies of two files compare, None where none are given.

    Raises: UsageError where a file is not what it should be, or a map is given alone.
    """
    if vocabularies is None:
        if draft_to_target is not None:
            raise UsageError("--vocabulary-map needs --vocabularies, the two that it maps.")
        return None
    target, draft = (read_vocabulary(path) for path in vocabularies)
    mapped = None if draft_to_target is None else read_map(draft_to_target)
    return compare_vocabularies(target, draft, mapped)


def read_vocabulary(path: Path) -> list[str]:
    """Returns the tokens by id of a tokenizer.json, or of a JSON object or list of tokens.

    Ids that no token has are "". Raises: UsageError where the file is none of these.
    """
    data = _json(path)
    if isinstance(data, Mapping) and isinstance(data.get("model"), Mapping):
        added = {item["content"]: item["id"] for item in data.get("added_tokens", ())}
        data = {**_ids(data["model"].get("vocab"), path), **added}
    ids = _ids(data, path)
    tokens = [""] * (max(ids.values(), default=-1) + 1)
    for token, number in ids.items():
        tokens[number] = token
    return tokens


def read_map(path: Path) -> list[int]:
    """Returns the target's id of every draft id from a JSON list. Raises UsageError."""
    data = _json(path)
    if not isinstance(data, list) or any(type(number) is not int for number in data):
        raise UsageError(f"{path} is not a JSON list of ids, one for each id of the draft.")
    return data


def _json(path: Path) -> object:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}.") from error
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path} is not JSON: {unparsed(error)}.") from error


def _ids(data: object, path: Path) -> dict[str, int]:
    """Returns token -> id of the forms that vocabularies are written in."""
    if isinstance(data, list):
        tokens = [item[0] if isinstance(item, list) and item else item for item in data]
        data = {token: number for number, token in enumerate(tokens)}
    if isinstance(data, Mapping):
        ids = {
            token: number for token, number in data.items() if type(number) is int and number >= 0
        }
        if ids and len(ids) == len(data) and all(isinstance(token, str) for token in ids):
            return ids
    raise UsageError(f"{path} holds no vocabulary: a tokenizer.json, or tokens with their ids.")
