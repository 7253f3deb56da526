"""The worker process: calls a user's sampler on private copies and returns its raw rows.

Self-contained (standard library, numpy, torch), so that any Python with torch can run this file
as a script and no package of ours can meet one of the user's that has the same name.

The parent writes a batch into an in-memory file and one numbered request into a pipe; the
worker reads the tensors from the file, seeds everything from the request, calls the sampler,
writes int64 rows behind the tensors and sends one reply with the request's number. A message is
four bytes of length, then JSON. Prints of the sampler go to a log, never into the pipes.
"""

from __future__ import annotations

import os
import sys

if __name__ == "__main__":  # Python puts our folder first: its modules are not the user's
    sys.path[:] = [p for p in sys.path if p != os.path.dirname(os.path.abspath(__file__))]

import functools
import importlib
import importlib.util
import json
import random
import signal
import struct
import threading
import traceback
import types
from collections.abc import Callable
from typing import Any, NamedTuple, Optional

import numpy as np
import torch

_LENGTH = struct.Struct("<I")
_LONGEST = 1 << 24


class RowOptions(NamedTuple):
    """The fields of `audit.samplers.interface.RowOptions`."""

    temperature: torch.Tensor
    top_k: torch.Tensor
    top_p: torch.Tensor
    greedy: torch.Tensor
    seed: torch.Tensor


class StepBatch(NamedTuple):
    """The fields of `audit.samplers.interface.StepBatch`."""

    draft_token_ids: torch.Tensor
    draft_probs: torch.Tensor
    target_probs: torch.Tensor
    num_draft_tokens: torch.Tensor
    options: Optional[RowOptions] = None  # noqa: UP045 (the other Python may be older)


class Stored(NamedTuple):
    """Where a tensor lies in the file; a dimension of stride 0 is stored once, as size 1."""

    name: str
    dtype: str
    shape: list[int]
    stored_shape: list[int]
    offset: int


class RefusedError(Exception):
    """Raised where a sampler cannot be used; `usage` where the name given for it is at fault."""

    def __init__(self, sentence: str, *, usage: bool = False, detail: str = "") -> None:
        super().__init__(sentence)
        self.usage = usage
        self.detail = detail


# --- loading ---


def load(spec: str) -> tuple[Any, dict[str, str]]:
    """Returns the callable that `module:object` or `path.py:object` names, and where it is from.

    A class is called without arguments. The origin holds the module's name ("" for a file) and
    its file. Raises: RefusedError, with the traceback of the user's code as detail if it failed.
    """
    place, _, name = spec.rpartition(":")
    is_file = place.endswith(".py")
    module = _from_file(place) if is_file else _by_name(place)
    found: Any = module
    for part in name.split("."):
        if not hasattr(found, part):
            known = ", ".join(n for n in vars(module) if not n.startswith("_"))
            raise RefusedError(f"{place} has no object {name!r}; it defines {known}.", usage=True)
        found = getattr(found, part)
    if isinstance(found, type):
        found = _run(f"calling the class {spec} without arguments", found)
    if not callable(found):
        kind = type(found).__name__
        wanted = "name a function (batch, generator) -> tokens"
        raise RefusedError(
            f"{spec} is of type {kind}, which is not callable; {wanted}.", usage=True
        )
    return found, {"module": "" if is_file else place, "file": module.__file__ or ""}


def _from_file(path: str) -> types.ModuleType:
    if not os.path.isfile(path):
        raise RefusedError(f"{path} is not a file; give the path of a Python file.", usage=True)
    path = os.path.abspath(path)
    sys.path.insert(0, os.path.dirname(path))
    module = types.ModuleType("draftproof_sampler_file")  # its own name may be a library's
    module.__file__ = path
    sys.modules[module.__name__] = module
    _run(f"importing {path}", _execute, path, vars(module))
    return module


def _execute(path: str, names: dict[str, Any]) -> None:
    """Runs the file as it is now: no byte code of an earlier state is read or left behind."""
    with open(path, "rb") as file:
        exec(compile(file.read(), path, "exec"), names)


def _by_name(name: str) -> types.ModuleType:
    sys.path.insert(0, os.getcwd())
    try:
        missing = importlib.util.find_spec(name.partition(".")[0]) is None
    except ValueError:
        missing = True
    if missing:
        raise RefusedError(f"no module {name!r} can be imported from here.", usage=True)
    module: types.ModuleType = _run(f"importing {name}", importlib.import_module, name)
    return module


def _run(doing: str, function: Any, *arguments: Any) -> Any:
    try:
        return function(*arguments)
    except (Exception, SystemExit) as error:
        raise RefusedError(
            f"{doing} failed: {_brief(error)}.", detail=_own_traceback(error)
        ) from None


def _brief(error: BaseException) -> str:
    """Returns type, first line and place of an error, without a full stop."""
    lines = str(error).strip().splitlines()
    said = f"{type(error).__name__}: {lines[0][:200]}" if lines else type(error).__name__
    frames = traceback.extract_tb(error.__traceback__)
    if isinstance(error, SyntaxError) or not frames:
        return said.rstrip(".")
    return f"{said.rstrip('.')} (line {frames[-1].lineno} of {frames[-1].filename})"


def _own_traceback(error: BaseException) -> str:
    """Returns the traceback without our own frame, the first."""
    inner = error.__traceback__.tb_next if error.__traceback__ else None
    return "".join(traceback.format_exception(type(error), error, inner))


# --- the return value ---


def complaint(output: Any, batch: Any) -> str:
    """Returns what is wrong with the return value as a whole, "" where nothing is.

    Right is an int64 or int32 tensor [batch, gamma + 1] on the batch's device, alone or in a
    tuple with a second one [batch], the numbers accepted.
    """
    rows, gamma = batch.draft_token_ids.shape
    parts = output if isinstance(output, tuple) else (output,)
    if len(parts) not in (1, 2):
        return f"returned a tuple of {len(parts)}; return tokens or (tokens, num_accepted)"
    shapes = {"tokens": (rows, gamma + 1), "num_accepted": (rows,)}
    device = batch.draft_token_ids.device
    for part, (name, shape) in zip(parts, shapes.items()):  # noqa: B905 (not in Python 3.9)
        wrong = _wrong_tensor(part, shape, device)
        if wrong:
            return f"returned {wrong} for {name}; return an int64 tensor {list(shape)} on {device}"
    return ""


def _wrong_tensor(value: Any, shape: tuple[int, ...], device: torch.device) -> str:
    if not isinstance(value, torch.Tensor):
        return f"a {type(value).__name__}"
    if tuple(value.shape) != shape:
        return f"shape {list(value.shape)}"
    if value.dtype not in (torch.int64, torch.int32):
        holds_nan = value.is_floating_point() and bool(value.isnan().any())
        return f"dtype {value.dtype}" + (" with NaN in it" if holds_nan else "")
    return "" if value.device == device else f"a tensor on {value.device}"


# --- messages and tensors ---


def send(pipe: int, message: dict[str, Any]) -> None:
    """Writes one message."""
    data = json.dumps(message).encode()
    view = memoryview(_LENGTH.pack(len(data)) + data)
    while view:
        view = view[os.write(pipe, view) :]


def receive(pipe: int, wait: Callable[[], None] = lambda: None) -> dict[str, Any]:
    """Returns the next message; `wait` is called before each read.

    Raises: EOFError where the other end is closed; ValueError where it sent no message.
    """
    (length,) = _LENGTH.unpack(_exactly(pipe, _LENGTH.size, wait))
    if length > _LONGEST:
        raise ValueError(f"a message of {length} bytes")
    message: dict[str, Any] = json.loads(_exactly(pipe, length, wait))
    return message


def _exactly(pipe: int, size: int, wait: Callable[[], None]) -> bytes:
    data = b""
    while len(data) < size:
        wait()
        part = os.read(pipe, size - len(data))
        if not part:
            raise EOFError
        data += part
    return data


def bytes_of(tensor: torch.Tensor) -> memoryview:
    """Returns the memory of a contiguous tensor on the CPU."""
    return tensor.reshape(-1).view(torch.uint8).numpy().data


def write_tensor(file: int, tensor: torch.Tensor, offset: int) -> None:
    """Writes a contiguous tensor on the CPU into the file."""
    view = bytes_of(tensor)
    while view:
        written = os.pwrite(file, view, offset)
        view, offset = view[written:], offset + written


def read_tensor(file: int, dtype: torch.dtype, shape: Any, offset: int) -> torch.Tensor:
    """Returns a new tensor on the CPU, read from the file. Raises EOFError where it is short."""
    tensor = torch.empty(tuple(shape), dtype=dtype, device="cpu")
    view = bytes_of(tensor)
    while view:
        count = os.preadv(file, [view], offset)
        if count == 0:
            raise EOFError
        view, offset = view[count:], offset + count
    return tensor


def _read(file: int, stored: Stored) -> torch.Tensor:
    dtype = getattr(torch, stored.dtype)
    return read_tensor(file, dtype, stored.stored_shape, stored.offset)


# --- the loop ---


def seeded(seed: int, device: str) -> torch.Generator:
    """Returns a generator from the seed; the global ones are seeded too, each on its own."""
    source = random.Random(seed)
    random.seed(source.getrandbits(63))
    np.random.seed(source.getrandbits(32))
    torch.default_generator.manual_seed(source.getrandbits(63))  # torch.manual_seed is 80 us
    if device.startswith("cuda"):
        torch.cuda.manual_seed_all(source.getrandbits(63))
    return torch.Generator(device).manual_seed(source.getrandbits(63))


def batch_of(tensors: dict[str, torch.Tensor]) -> StepBatch:
    """Returns the batch of these fields, those of its options among them."""
    own = {name: tensors.pop(name) for name in StepBatch._fields if name in tensors}
    return StepBatch(**own, options=RowOptions(**tensors) if tensors else None)


def answer(sampler: Any, request: dict[str, Any], file: int) -> dict[str, Any]:
    """Returns the reply to one request; its rows stand in the file.

    Raises: RefusedError where the sampler fails or breaks its contract: a sentence without subject.
    """
    fields = [Stored(*field) for field in request["fields"]]
    device = request["device"]
    private = {field.name: _read(file, field).to(device) for field in fields}
    batch = batch_of({f.name: private[f.name].expand(f.shape) for f in fields})
    generator = seeded(request["seed"], device)
    output = _call(sampler, batch, generator)
    wrong = complaint(output, batch)
    if wrong:
        raise RefusedError(f"{wrong}.")
    for field in fields:
        if not torch.equal(_read(file, field), private[field.name].cpu()):
            raise RefusedError(f"wrote into its input {field.name}; it must copy it first.")
    parts = output if isinstance(output, tuple) else (output,)
    flat = torch.cat([part.reshape(-1).long().cpu() for part in parts])
    write_tensor(file, flat, request["result"])
    return {"parts": len(parts)}


def _call(sampler: Any, batch: StepBatch, generator: torch.Generator) -> Any:
    worker = os.getpid()
    try:
        return sampler(batch, generator)
    except SystemExit:
        raise RefusedError("called exit().") from None
    except BaseException as error:
        detail = _own_traceback(error)
        raise RefusedError(f"raised {_brief(error)}.", detail=detail) from None
    finally:
        if os.getpid() != worker:  # a child that the sampler forked: its rows are nobody's
            os._exit(0)


def serve(sampler: Any, requests: int, replies: int, file: int) -> None:
    """Answers requests until the parent closes its end."""
    while True:
        try:
            request = receive(requests)
        except (EOFError, OSError):
            return
        try:
            reply = answer(sampler, request, file)
        except RefusedError as refused:
            reply = {"error": str(refused), "detail": refused.detail}
        send(replies, {"number": request["number"], **reply})


def start(spec: str, device: str) -> tuple[Any, dict[str, Any]]:
    """Returns the sampler and what the parent must know of it. Raises RefusedError."""
    torch.set_num_threads(1)
    _run(f"using the device {device}", lambda: torch.zeros(1, device=device))
    sampler, origin = load(spec)
    facts = getattr(sampler, "draftproof", {})
    try:
        json.dumps(facts)
    except (TypeError, ValueError):
        raise RefusedError(
            f"{spec}.draftproof is not a dict of plain values.", usage=True
        ) from None
    about = {"facts": facts, "python": sys.version.split()[0], "torch": torch.__version__}
    return sampler, {**about, **origin}


def end_with_parent(lifeline: int) -> None:
    """Waits for the parent's end and then kills this process and all that it started."""
    os.read(lifeline, 1)
    os.killpg(0, signal.SIGKILL)


def main() -> None:
    """Runs the worker; its one argument is JSON: file descriptors, spec and device."""
    given = json.loads(sys.argv[1])
    requests, replies, lifeline, file = descriptors = given["descriptors"]
    for descriptor in descriptors:
        os.set_inheritable(descriptor, False)
        os.register_at_fork(after_in_child=functools.partial(os.close, descriptor))
    threading.Thread(target=end_with_parent, args=(lifeline,), daemon=True).start()
    sys.argv[:] = [given["spec"]]
    try:
        sampler, about = start(given["spec"], given["device"])
    except RefusedError as refused:
        refusal = {"error": str(refused), "usage": refused.usage, "detail": refused.detail}
        send(replies, {"number": 0, **refusal})
        return
    send(replies, {"number": 0, **about})
    serve(sampler, requests, replies, file)


if __name__ == "__main__":
    main()
