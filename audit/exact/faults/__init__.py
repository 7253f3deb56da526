"""The faults as exact laws of one round, by subject, each with its description.

Each `Chain` names only what differs from `Chain()`, which is the ratio rule; every other law
changes what becomes of a round of that rule. p is the target row, q the draft row, x the drafted
token. Each module lists its entries in `ENTRIES`.
"""
