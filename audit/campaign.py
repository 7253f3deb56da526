"""One sampler over all selected cases: which chunk comes next, until every case is decided.

Between two looks every undecided case first shares mixed calls with the others of its vocabulary
size and draft tree, then has calls of its own; cases that see the commonest fault best come first,
so that a time limit costs the least.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import torch

from audit.errors import SamplerError
from audit.harness.collect import Bench, Collected
from audit.harness.deck import deck_of
from audit.harness.frozen import is_frozen
from audit.harness.schedule import Chunk, automatic_batch_size, chunks
from audit.harness.store import RunDirectory
from audit.judgement.company import mixed_up
from audit.judgement.dependence import FROZEN
from audit.judgement.monitor import Monitor
from audit.judgement.prepare import trials_to_certify
from audit.progress import Progress, next_decision
from audit.samplers.interface import LoadedSampler
from audit.statistics.e_process import log_mean
from audit.steered import Found
from audit.tree import Tree
from audit.verdict import Budget, Verdict


@dataclass(eq=False)
class Campaign:
    """Monitors of all cases before one sampler.

    errors: what went wrong, by case id ("" for calls that mixed cases). together: the sentence
    of a failure that only all cases together prove. failed: the worst of each case, or ""
    of the run as a whole, in earlier attempts at the run. make_bench: puts the sampler before a
    deck. laws: what reading the law of the code gave, by case id.
    """

    sampler: LoadedSampler
    monitors: Sequence[Monitor]
    looks: Sequence[int]
    seed: int
    dtype: torch.dtype
    device: torch.device
    batch_size: int | None
    store: RunDirectory
    phase: str
    small_batches: bool = False
    deadline: float | None = None
    progress: Callable[[Progress], None] | None = None
    errors: dict[str, SamplerError] = field(default_factory=dict)
    together: str = ""
    failed: Mapping[str, Verdict] = field(default_factory=dict)
    interrupted: bool = False
    make_bench: Callable[..., Bench] = Bench
    laws: dict[str, Found] = field(default_factory=dict)
    _cut: set[str] = field(default_factory=set)
    _needed: dict[str, int | None] = field(default_factory=dict)
    _benches: dict[tuple[str, ...], Bench] = field(default_factory=dict)

    def run(self) -> None:
        """Makes chunks until every case is decided, time is up or the user interrupts.

        Those that the run directory holds are judged in any case.
        """
        try:
            if self._frozen():
                for monitor in self.monitors:
                    monitor.dependent = FROZEN
            for look in range(1, len(self.looks) + 1):
                self._look(look)
        except KeyboardInterrupt:
            self.interrupted = True
        self._explain()

    def _explain(self) -> None:
        """Says of what was proven whether the other rows of a call had a part in it."""
        shared = {case for cases in self._benches for case in cases if len(cases) > 1}
        proven = [m for m in self.monitors if m.failures or m.dependent]
        beside = [m for m in proven if m.setup.case.id in shared]
        company = mixed_up(monitor.log_e_of_company() for monitor in beside)
        for monitor in proven:
            monitor.explain(company if monitor in beside else "")

    def _look(self, look: int) -> None:
        parts = [chunk for chunk in chunks(self.looks) if chunk.look == look]
        for chunk in parts:
            if chunk.mixed:
                for group in self._groups():
                    self._collect(chunk, group, ends_look=chunk is parts[-1])
        for monitor in self._by_power():
            for chunk in parts:
                if not chunk.mixed and self._wanted(monitor):
                    self._collect(chunk, [monitor], ends_look=chunk is parts[-1])
        self._judge_together()

    @property
    def late(self) -> bool:
        """Whether time is up: then nothing more is sampled, and what was kept still counts."""
        return self.deadline is not None and time.monotonic() > self.deadline

    def _wanted(self, monitor: Monitor) -> bool:
        over = self.late and not self.store.keeps
        if over or getattr(self.sampler.call, "ended", False):
            return False
        if monitor.setup.case.id in self._cut:
            return False
        return not self._done(monitor) and monitor.setup.case.id not in self.errors

    def _done(self, monitor: Monitor) -> bool:
        return monitor.done()

    def _by_power(self) -> list[Monitor]:
        """Returns the monitors, those that see the commonest fault best first."""
        return sorted(self.monitors, key=lambda m: -m.setup.headline_distance)

    def _groups(self) -> Iterator[list[Monitor]]:
        """Yields the undecided monitors whose rows may share a call."""
        groups: dict[tuple[int, int, Tree | None], list[Monitor]] = {}
        for monitor in self._by_power():
            if self._wanted(monitor):
                case = monitor.setup.case
                gamma = 0 if self.sampler.facts.ragged else case.num_speculative_tokens
                groups.setdefault((case.vocab_size, gamma, case.tree), []).append(monitor)
        yield from groups.values()

    def _collect(self, chunk: Chunk, monitors: Sequence[Monitor], *, ends_look: bool) -> None:
        last = ends_look and chunk.look == len(self.looks)
        try:
            collected = self._chunk(chunk, monitors)
        except SamplerError as error:
            where = monitors[0].setup.case.id if len(monitors) == 1 else ""
            self.errors.setdefault(where, error)
            return
        if collected is None:
            self._cut |= {monitor.setup.case.id for monitor in monitors}
            return
        for monitor, part in zip(monitors, collected, strict=True):
            monitor.update(chunk, part, ends_look=ends_look, last=last)
        self.report(monitors[0])

    def _chunk(self, chunk: Chunk, monitors: Sequence[Monitor]) -> list[Collected] | None:
        """Returns a chunk from the run directory, or makes it and keeps it there.

        None where it is not there and time is up: what follows it is no part of the run either.
        """
        bench = self._bench(monitors)
        hashes = "".join(case.hash for case in bench.deck.cases)
        digest = hashlib.sha256(hashes.encode()).hexdigest()[:16]
        name = f"{self.phase}-{chunk.look:02d}-{chunk.part}-{chunk.first}-{chunk.trials}-{digest}"
        collected = self.store.load(name)
        if collected is None:
            if self.late and self.store.keeps:
                return None
            collected = bench.collect(chunk)
            self.store.save(name, collected)
        return collected

    def _bench(self, monitors: Sequence[Monitor]) -> Bench:
        key = tuple(monitor.setup.case.id for monitor in monitors)
        if key not in self._benches:
            nulls = [monitor.setup.null for monitor in monitors]
            deck = deck_of(nulls, dtype=self.dtype, device=self.device)
            views = tuple(one.setup.views + one.setup.shown for one in monitors)
            self._benches[key] = self.make_bench(
                self.sampler,
                deck,
                views,
                self.seed,
                batch_size=self._rows_a_call(deck.vocab_size, deck.tree.nodes),
                small=self.batch_size is None,
                only_small=self.small_batches,
            )
        return self._benches[key]

    def _rows_a_call(self, vocab_size: int, drafted: int) -> int:
        facts = self.sampler.facts
        if not facts.independent_rows:
            return 1
        wanted = self.batch_size or automatic_batch_size(vocab_size, drafted)
        return min(wanted, facts.max_batch or wanted)

    def _frozen(self) -> bool:
        monitor = self._by_power()[0]
        try:
            level = monitor.budget.level(Budget.INDEPENDENCE)
            return is_frozen(self._bench([monitor]), level=level)
        except SamplerError as error:
            self.errors[monitor.setup.case.id] = error
            return False

    def _judge_together(self) -> None:
        if self.together or any(m.dependent for m in self.monitors):
            return
        log_es = [monitor.preservation.log_e for monitor in self.monitors]
        budget = self.monitors[0].budget
        bar = budget.log_threshold(Budget.PRESERVATION * budget.cases)
        if log_mean(log_es) >= bar and not any(m.failures for m in self.monitors):
            self.together = "all cases taken together prove that the law is not the target's"

    def report(self, monitor: Monitor, *, laws: tuple[int, int] | None = None) -> None:
        """Tells how far it is; laws: how many were read and are to be read, while they are."""
        if self.progress is None:
            return
        self.progress(
            Progress(
                done_trials=sum(m.trials for m in self.monitors),
                expected_trials=sum(map(self._expected_trials, self.monitors)),
                case_id=monitor.setup.case.id,
                log_e=monitor.preservation.log_e,
                log_threshold=monitor.budget.log_threshold(Budget.PRESERVATION),
                phase=self.phase,
                deadline=self.deadline,
                laws=laws,
            )
        )

    def _expected_trials(self, monitor: Monitor) -> int:
        """Returns the trials of a case in all, if its sampler is correct."""
        if self.late or not self._wanted(monitor):
            return monitor.trials
        name = monitor.setup.case.id
        if name not in self._needed:
            self._needed[name] = trials_to_certify(monitor.setup, monitor.budget)
        return next_decision(self.looks, monitor.trials, self._needed[name])
