"""Runs draftproof from a checkout: `python cli.py --help`."""

from audit.cli import main

if __name__ == "__main__":
    main()
