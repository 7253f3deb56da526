"""Where the data that ships with draftproof lies: cases, report material and examples.

A wheel carries the folders inside the package, as `_cases`, `_reports` and `_examples`; a checkout
or an editable installation has them beside the package, as `cases`, `reports` and `examples`. All
are looked for from this file, never from the current folder.
"""

from __future__ import annotations

from pathlib import Path

from audit.errors import DraftproofError

PACKAGE = Path(__file__).resolve().parent


def cases_dir() -> Path:
    """Returns the folder of the shipped case files.

    Raises: DraftproofError where the installation lacks it.
    """
    return data_dir("cases")


def reports_dir() -> Path:
    """Returns the folder of the page template, the style sheet and the record schema.

    Raises: DraftproofError where the installation lacks it.
    """
    return data_dir("reports")


def examples_dir() -> Path:
    """Returns the folder of the examples.

    Raises: DraftproofError where the installation lacks it.
    """
    return data_dir("examples")


def data_dir(name: str, *, package: Path = PACKAGE) -> Path:
    """Returns the data folder `name` of the installation that holds `package`.

    Raises: DraftproofError where there is none.
    """
    carried = package / f"_{name}"
    if carried.is_dir():
        return carried
    checkout = package.parent
    # Beside an installed package, a folder `cases` would belong to somebody else.
    if (checkout / "pyproject.toml").is_file() and (checkout / name).is_dir():
        return checkout / name
    raise DraftproofError(
        f"the data folder {name!r} is missing from the installation at {package}; "
        "install draftproof again."
    )
