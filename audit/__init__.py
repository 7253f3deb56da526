"""draftproof: statistical verification and audit of speculative decoding.

Importing this package is light on purpose. The public functions stand one level below:
`audit.run.run_audit`, `audit.case.Case`, `audit.exact`.
"""

__version__ = "0.1.0"
