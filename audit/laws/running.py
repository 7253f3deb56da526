"""Carries out a campaign by the method that is asked for: laws that are read, sampled rounds, both.

A user's sampler that is sampled in a worker is read in a process of its own.
"""

from __future__ import annotations

import math
import time

from audit.campaign import Campaign
from audit.case import Case
from audit.errors import DraftproofError, SamplerError
from audit.laws.apart import Apart
from audit.laws.reading import read_case
from audit.laws.terms import Terms
from audit.samplers.client import WorkerSampler
from audit.settings import Settings
from audit.steered import Found, NotSteered

CASE_SECONDS = 20.0  # a law that takes longer is left to sampled rounds
HANGS = 60.0  # beyond that, in the process apart
PROOF_SECONDS = 0.2


def carry_out(campaign: Campaign, settings: Settings) -> None:
    """Reads the laws of a campaign's cases and makes its sampled rounds, as the method says."""
    if settings.method != "sampled":
        try:
            _read(campaign, settings)
        except KeyboardInterrupt:
            campaign.interrupted = True
            campaign.deadline = time.monotonic()
    if settings.method != "steered" and (campaign.store.holds or not campaign.interrupted):
        campaign.run()


def _read(campaign: Campaign, settings: Settings) -> None:
    """Reads the law of every case, as long as the time limit allows."""
    reader = _Reader(campaign, settings)
    try:
        for read, monitor in enumerate(campaign.monitors):
            campaign.report(monitor, laws=(read, len(campaign.monitors)))
            case = monitor.setup.case
            try:
                campaign.laws[case.id] = reader.read(case)
            except SamplerError as error:
                campaign.errors.setdefault(case.id, error)
    finally:
        reader.close()


class _Reader:
    """Reads laws here, or in a process that is started for the first of them."""

    def __init__(self, campaign: Campaign, settings: Settings) -> None:
        self._campaign, self._settings = campaign, settings
        self._apart: Apart | None = None
        self._refused = ""
        self._terms = Terms(
            dtype=settings.dtype,
            device=str(settings.torch_device),
            seconds=PROOF_SECONDS,
            longest=CASE_SECONDS if settings.method == "both" else math.inf,
            epsilon=settings.certify,
            delta=settings.law_delta / len(campaign.monitors),
            declares=settings.declares if campaign.phase == "audit" else (),
            seed=settings.seed,
        )

    def read(self, case: Case) -> Found:
        """Returns the law of a case, or why there is none. Raises SamplerError."""
        deadline, sampler = self._campaign.deadline, self._campaign.sampler
        if deadline is not None and time.monotonic() > deadline:
            return Found(NotSteered("the time limit was reached before"))
        if not isinstance(sampler.call, WorkerSampler):
            return read_case(sampler, case, self._terms)
        if self._settings.python is not None:
            return Found(NotSteered("it runs with another Python, which --python names"))
        if self._apart is None and not self._refused:
            self._start(sampler.name)
        if self._apart is None:
            return Found(NotSteered(self._refused))
        found = self._apart.read(case, self._terms)
        if self._apart.ended and math.isfinite(self._terms.longest):
            self._apart = None
            self._refused = f"a call did not end while the law of {case.id} was read"
        return found

    def _start(self, spec: str) -> None:
        try:
            self._apart = Apart(spec, seconds=CASE_SECONDS + HANGS)
        except DraftproofError as error:
            self._refused = f"it cannot be loaded beside the search: {error}"

    def close(self) -> None:
        """Ends the process, if one was started."""
        if self._apart is not None:
            self._apart.close()
