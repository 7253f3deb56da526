"""Reads the exact law off real code by taking over its random numbers."""
