"""One check of one sampler, from its name to what was found."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace

from audit.samplers.checking.programs import protocol_findings
from audit.samplers.checking.report import ContractReport, Finding
from audit.samplers.checking.rules import check_contract
from audit.samplers.interface import Facts
from audit.samplers.registry import PROCESS, load_sampler


def check_sampler(
    spec: str,
    *,
    device: str = "cpu",
    timeout: float = 60.0,
    in_process: bool = False,
    python: str | None = None,
    seed: int = 0,
    dtypes: Sequence[str] = ("float32",),
) -> ContractReport:
    """Returns what comes of every rule of the contract; of a program also those of the protocol.

    dtypes: those that the sampler must take. The other arguments are those of `load_sampler`.

    Raises: UsageError where nothing has this name; SamplerError where it cannot be loaded.
    """
    protocol: tuple[Finding, ...] = ()
    if spec.startswith(PROCESS):
        protocol = protocol_findings(spec.removeprefix(PROCESS), timeout=timeout)
        if protocol[0].result == "broken":
            return ContractReport(spec, {}, Facts(), ("verify",), (), protocol)
    with closing(
        load_sampler(spec, device=device, timeout=timeout, in_process=in_process, python=python)
    ) as sampler:
        report = check_contract(sampler, device=device, seed=seed, dtypes=dtypes)
    return replace(report, findings=(*protocol, *report.findings))
