"""Adapters of packages that anyone can install: their own functions, audited as they are."""
