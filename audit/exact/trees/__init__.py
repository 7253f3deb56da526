"""Rules that verify draft trees, right and wrong, as exact laws of one round, by subject.

p is the target row after a node, q the row that its children were drawn from, c_j the j-th of
them in the order in which they were drawn. Each module lists its entries in `ENTRIES`.
"""
