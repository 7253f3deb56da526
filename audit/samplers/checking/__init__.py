"""The contract of a sampler, asked of it without any statistics: `draftproof samplers check`.

`worlds` makes the batches, `rules` asks the sampler to verify them, `apart` proves mixed-up rows
from single tokens, `programs` asks a program for the rules of its protocol, `report` holds what
was found.
"""
