"""The worker process: calls a user's sampler on private copies and returns its raw rows.

This folder needs the standard library, numpy and torch, and nothing else of ours, so that any
Python with torch can run it (`python FOLDER JSON`) and no package of ours can meet one of the
user's that has the same name: in the worker it is known as `draftproof_worker`.

The parent writes a batch into an in-memory file and one numbered request into a pipe; the
worker reads the tensors from the file, seeds everything from the request, calls the sampler,
writes int64 rows behind the tensors and sends one reply with the request's number. Prints of the
sampler go to a log, never into the pipes.
"""
