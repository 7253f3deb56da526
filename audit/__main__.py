"""Runs draftproof as a module: `python -m audit --help`."""

from audit.cli import main

if __name__ == "__main__":
    main()
