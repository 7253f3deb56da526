"""Decode loops: the seam to any of them, our own with its state faults, and transformers'."""
