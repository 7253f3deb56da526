"""State evidence: whether the states of a decode loop match the text that it has emitted.

It is evidence of its own kind, in words of its own: none of it is a verdict on a sampling rule.
"""
