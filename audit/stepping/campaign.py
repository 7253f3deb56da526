"""A step sampler over all selected cases: its proposals are watched beside what it emits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from audit.campaign import Campaign
from audit.harness.schedule import Chunk
from audit.harness.stepping import StepBench
from audit.judgement.monitor import Monitor
from audit.judgement.proposals import ProposalWatch


@dataclass(eq=False)
class StepCampaign(Campaign):
    """As any campaign; a case is done when its emitted law and its claim are decided.

    watches: of the proposals, by case id.
    """

    watches: Mapping[str, ProposalWatch] = field(default_factory=dict)

    def __post_init__(self) -> None:
        tallies = {case: watch.tally for case, watch in self.watches.items()}
        self.make_bench = partial(StepBench, tallies=tallies)

    def watch(self, monitor: Monitor) -> ProposalWatch:
        """Returns the watch over a monitor's case."""
        return self.watches[monitor.setup.case.id]

    def wrong_claim(self) -> bool:
        """Whether the claim of any case is proven to be wrong."""
        return any(self.watch(m).wrong(independent=not m.dependent) for m in self.monitors)

    def _done(self, monitor: Monitor) -> bool:
        return super()._done(monitor) and self.watch(monitor).settled()

    def _frozen(self) -> bool:
        frozen = super()._frozen()
        for watch in self.watches.values():
            watch.tally.taken()  # probes are no rounds
        return frozen

    def _collect(self, chunk: Chunk, monitors: Sequence[Monitor], *, ends_look: bool) -> None:
        before = len(self.errors)
        super()._collect(chunk, monitors, ends_look=ends_look)
        for watch in map(self.watch, monitors):
            if len(self.errors) > before:
                watch.tally.taken()  # of a chunk that was not counted
            else:
                watch.update(chunk, ends_look=ends_look)
