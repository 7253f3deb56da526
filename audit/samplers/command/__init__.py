"""A sampler in any language: a program that answers JSON lines, `process:COMMAND`.

docs/process.md describes the protocol. `requests` writes its lines, `answers` reads them, `lines`
carries them to a program and back, `sampler` makes a Sampler of all that, `identity` says what code
it was.
"""
