"""Which command wrote a record, by what the record says of itself."""

from __future__ import annotations

_OTHERS = ("state", "step", "law", "trace")


def command_of(data: object) -> str:
    """Returns the command that writes such records, "run" where nothing says otherwise.

    >>> command_of({"evidence": "state"}), command_of({"kind": "law"}), command_of({})
    ('state', 'law', 'run')
    """
    if not isinstance(data, dict):
        return "run"
    told = [data.get(key) for key in ("evidence", "level", "kind")]
    return next((name for name in _OTHERS if name in told), "run")
