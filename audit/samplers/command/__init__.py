"""A sampler in any language: a program that answers JSON lines, `process:COMMAND`.

docs/process.md describes the protocol. `protocol` writes and reads its lines, `lines` carries them
to a program and back, `sampler` makes a Sampler of both, `identity` says what code it was.
"""
