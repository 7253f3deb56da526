"""A record as text and as a file: written whole, read from JSON or from a page that carries it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from pydantic import BaseModel, ValidationError

from audit.embedding import embed, embedded_in
from audit.errors import UsageError, unparsed
from audit.files import write_atomically
from audit.kinds import command_of
from audit.record import SCHEMA_NUMBER, Record

Kind = TypeVar("Kind", bound=BaseModel)


def to_json(record: Record, *, indent: int | None = 2) -> str:
    """Returns the record as ASCII JSON text.

    Where `indent` is None it is short: no spaces, and nothing that is filled in when it is read.
    """
    separators = (",", ":") if indent is None else None
    data = record.model_dump(mode="json", exclude_defaults=indent is None)
    data["schema_number"] = record.schema_number
    return json.dumps(data, indent=indent, separators=separators, allow_nan=False)


def embedded(record: Record) -> str:
    """Returns the record as the data block of a page."""
    return embed(to_json(record, indent=None))


def write_record(record: Record, path: Path) -> None:
    """Writes the record, completely or not at all. Raises UsageError where that is impossible."""
    write_atomically(path, to_json(record) + "\n")


def read_record(path: Path) -> Record:
    """Returns a run's record in a JSON file or a page. Raises UsageError where there is none."""
    data = read_data(path)
    command = command_of(data)
    if command != "run":
        raise UsageError(
            f"{path} is a record of `draftproof {command}`, not of `draftproof run`; `draftproof "
            f"report {path}` shows it."
        )
    return validated(Record, data, path)


def read_data(path: Path) -> Any:
    """Returns the data of any command's record, in a JSON file or a page.

    Raises: UsageError where there is none, or this version does not read it.
    """
    try:
        data = json.loads(_json_in(path), parse_constant=_refuse_constant)
        _check_number(data)
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}.") from error
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path} is not a draftproof record: {unparsed(error)}.") from error
    return data


def validated(kind: type[Kind], data: Any, path: Path) -> Kind:
    """Returns the record that the data of a file are. Raises UsageError where they are none."""
    try:
        return kind.model_validate(data)
    except ValidationError as error:
        raise UsageError(f"{path} is not a draftproof record: {_first_problem(error)}.") from error


def json_schema() -> dict[str, Any]:
    """Returns the JSON schema of the record."""
    return Record.model_json_schema(mode="serialization")


def _json_in(path: Path) -> str:
    text = path.read_text(encoding="utf-8")
    return embedded_in(text) if text.lstrip().startswith("<") else text


def _check_number(data: object) -> None:
    number = data.get("schema_number") if isinstance(data, dict) else None
    if type(number) is not int or number < 1:
        raise ValueError("it has no schema_number")
    if number > SCHEMA_NUMBER:
        raise ValueError(
            f"its schema number {number} is newer than {SCHEMA_NUMBER}, the newest that this "
            "version reads; update draftproof"
        )


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"it holds {name}, which JSON does not know")


def _first_problem(error: ValidationError) -> str:
    problems = error.errors(include_url=False, include_input=False)
    where = ".".join(str(part) for part in problems[0]["loc"])
    more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    return f"{where}: {problems[0]['msg']}{more}"
