"""Models without weights for decode loops: their conditional laws are the rows of a case."""
