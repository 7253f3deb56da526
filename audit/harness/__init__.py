"""Runs a sampler on a case and counts what it emits."""
