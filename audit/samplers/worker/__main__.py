"""Starts the worker under a name of its own, whatever is called what on the user's path."""

import importlib
import importlib.util
import os
import sys

NAME = "draftproof_worker"


def run(folder: str) -> None:
    """Imports this folder as the package `draftproof_worker` and serves until the parent ends."""
    sys.path[:] = [path for path in sys.path if path != folder]  # Python put it there for us
    start = os.path.join(folder, "__init__.py")
    spec = importlib.util.spec_from_file_location(NAME, start, submodule_search_locations=[folder])
    if spec is None:
        sys.exit(f"{start} cannot be imported")
    sys.modules[NAME] = importlib.util.module_from_spec(spec)
    importlib.import_module(f"{NAME}.serve").main()


if __name__ == "__main__":
    run(os.path.dirname(os.path.abspath(__file__)))
