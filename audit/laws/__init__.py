"""Reads the laws of a sampler off its code, case by case, here or in a process of its own."""
