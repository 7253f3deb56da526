"""The worker's loop: read a request, call the sampler, write its rows, reply."""

from __future__ import annotations

import functools
import json
import os
import signal
import sys
import threading
from typing import Any, NamedTuple, Optional

import torch

from .loading import RefusedError, brief, guarded, load, own_traceback, uncallable
from .output import complaint
from .seeding import global_states, seeded
from .stepping import TABLES, Halves, Models, complaint_of_step, has_halves, unusable_step
from .wire import Stored, read_stored, receive, send, write_tensor


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


class TreeBatch(NamedTuple):
    """The fields of `audit.samplers.interface.TreeBatch`."""

    draft_token_ids: torch.Tensor
    parents: torch.Tensor
    draft_probs: torch.Tensor
    target_probs: torch.Tensor


def batch_of(tensors: dict[str, torch.Tensor]) -> Any:
    """Returns the StepBatch or TreeBatch of these fields, those of its options among them."""
    if "parents" in tensors:
        return TreeBatch(**tensors)
    own = {name: tensors.pop(name) for name in StepBatch._fields if name in tensors}
    return StepBatch(**own, options=RowOptions(**tensors) if tensors else None)


def answer(
    sampler: Any, request: dict[str, Any], file: int, generator: torch.Generator
) -> dict[str, Any]:
    """Returns the reply to one request; its rows stand in the file.

    Raises: RefusedError where the sampler fails or breaks its contract: a sentence without subject.
    """
    fields = [Stored(*field) for field in request["fields"]]
    device = request["device"]
    private = {field.name: read_stored(file, field).to(device) for field in fields}
    if TABLES[0] in private:
        step = _step_of(sampler, apart=request["apart"])
        return answer_step(step, Models(**private), generator, file, request["result"])
    batch = batch_of({f.name: private[f.name].expand(f.shape) for f in fields})
    output = _call(sampler, batch, generator)
    for field in fields:
        if not torch.equal(read_stored(file, field), private[field.name].cpu()):
            raise RefusedError(f"wrote into its input {field.name}; it must copy it first.")
    wrong = complaint(output, batch)
    if wrong:
        raise RefusedError(f"{wrong}.")
    parts = output if isinstance(output, tuple) else (output,)
    flat = torch.cat([part.reshape(-1).long().cpu() for part in parts])
    write_tensor(file, flat, request["result"])
    return {"parts": len(parts)}


def _step_of(sampler: Any, apart: bool) -> Any:
    """Returns what makes a round; apart: on the drafts of another proposal."""
    if not has_halves(sampler):
        return sampler
    both = Halves(sampler.propose, sampler.verify, StepBatch)
    return both.apart if apart else both


def answer_step(
    step: Any, models: Models, generator: torch.Generator, file: int, offset: int
) -> dict[str, Any]:
    """Returns the reply to a request for a round; drafts, tokens and claimed rows are in the file.

    Raises: RefusedError where the sampler fails or breaks its contract: a sentence without subject.
    """
    output = _call(step, models, generator)
    wrong = complaint_of_step(models, output)
    if not wrong:
        drafted, claimed, tokens = output
        wrong = complaint(tokens, StepBatch(drafted, claimed, drafted, drafted))
    if wrong:
        raise RefusedError(f"{wrong}.")
    flat = torch.cat([part.reshape(-1).long().cpu() for part in (drafted, tokens)])
    write_tensor(file, flat, offset)
    if claimed is not None:
        write_tensor(file, claimed.detach().double().contiguous().cpu(), offset + flat.nbytes)
    return {"parts": 2, "claimed": claimed is not None}


def _call(sampler: Any, batch: Any, generator: torch.Generator) -> Any:
    worker = os.getpid()
    try:
        return sampler(batch, generator)
    except SystemExit:
        raise RefusedError("called exit().") from None
    except BaseException as error:
        detail = own_traceback(error)
        raise RefusedError(f"raised {brief(error)}.", detail=detail) from None
    finally:
        if os.getpid() != worker:  # a child that the sampler forked: its rows are nobody's
            os._exit(0)


def serve(sampler: Any, requests: int, replies: int, file: int) -> None:
    """Answers requests until the parent closes its end; one without a seed goes on as it is."""
    generator = torch.default_generator
    while True:
        try:
            request = receive(requests)
        except (EOFError, OSError):
            return
        try:
            if request["seed"] is not None:
                generator = seeded(request["seed"], request["device"])
            before = global_states(request["device"]) if request["watched"] else {}
            reply = answer(sampler, request, file, generator)
            if before:
                after = global_states(request["device"])
                reply["moved"] = [name for name in before if before[name] != after[name]]
        except RefusedError as refused:
            reply = {"error": str(refused), "detail": refused.detail}
        except Exception as error:  # a tensor of a kind that cannot be read, or a lost device
            said = f"left something behind that cannot be read: {brief(error)}."
            reply = {"error": said, "detail": own_traceback(error)}
        send(replies, {"number": request["number"], **reply})


def start(spec: str, device: str, steps: bool) -> tuple[Any, dict[str, Any]]:
    """Returns the sampler and what the parent must know of it. Raises RefusedError.

    steps: whether it is called for whole rounds, and may be an object with both halves of one.
    """
    torch.set_num_threads(1)
    guarded(f"using the device {device}", lambda: torch.zeros(1, device=device))
    sampler, origin = load(spec, unusable_step if steps else uncallable)
    facts = getattr(sampler, "draftproof", {})
    try:
        json.dumps(facts)
    except (TypeError, ValueError):
        raise RefusedError(
            f"{spec}.draftproof is not a dict of plain values.", usage=True
        ) from None
    about = {"facts": facts, "python": sys.version.split()[0], "torch": torch.__version__}
    about["halves"] = has_halves(sampler)
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
        sampler, about = start(given["spec"], given["device"], given["steps"])
    except RefusedError as refused:
        refusal = {"error": str(refused), "usage": refused.usage, "detail": refused.detail}
        send(replies, {"number": 0, **refusal})
        return
    send(replies, {"number": 0, **about})
    serve(sampler, requests, replies, file)
