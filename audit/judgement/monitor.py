"""Follows one case chunk by chunk: what is proven so far, and whether more trials are wanted.

Evidence is updated in chunk order (bets use earlier chunks only). A failure is decided at the
end of a chunk, a certificate at a declared look; both rest on rows that are independent, so each
decision first asks the independence test. Where only rows of a call depend on each other, the
first row of each call is still believed.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from audit.counts import Counts
from audit.harness.collect import Collected
from audit.harness.schedule import Chunk
from audit.judgement.company import log_e_of_company
from audit.judgement.conformity import ConformityWatch
from audit.judgement.dependence import DependenceWatch
from audit.judgement.lenses import Lens, bound_delta
from audit.judgement.prepare import CaseSetup, trials_to_certify
from audit.judgement.preservation import Preservation, first_row_failures
from audit.statistics.total_variation import TotalVariation, total_variation
from audit.verdict import Budget, Finding, Verdict, case_verdict

FEWEST_CALLS = 16  # calls before a failure is decided: fewer could not show shared randomness


class Monitor:
    """The state of one case during a run.

    later: setups that hold after so many trials, where an earlier attempt at the run ended: more
    trials may certify more, by looks that were declared after those before them.
    """

    def __init__(
        self,
        setup: CaseSetup,
        budget: Budget,
        *,
        declared: Sequence[str] = (),
        fixed: bool = False,
        limited: bool = False,
        later: Iterable[tuple[int, CaseSetup]] = (),
    ) -> None:
        self._later = list(later)
        self.setup, self.budget, self.fixed, self.limited = setup, budget, fixed, limited
        self.preservation = Preservation(setup, budget)
        joint = setup.joint(declared)
        self.conformity = (
            None if joint is None else ConformityWatch(joint, budget, tolerance=setup.tolerance)
        )
        self.unobserved = tuple(declared) if joint is None else ()
        self.dependence = DependenceWatch(budget)
        self.failures: tuple[str, ...] = ()
        self.hard = False
        self.dependent = ""
        self.certified: float | None = None
        self.looks = 0
        self._first_rows: list[Counts] = []
        self._halves: list[Counts] = []
        self._mixed: list[Counts] = []

    @property
    def trials(self) -> int:
        """The number of trials taken in."""
        return self.preservation.trials

    def update(self, chunk: Chunk, collected: Collected, *, ends_look: bool, last: bool) -> None:
        """Takes in one chunk of this case, in chunk order; `last` says that no trials follow."""
        self._keep_up()
        self._keep(chunk, collected)
        self.preservation.update(collected.counts)
        self.dependence.update(collected)
        if self.conformity is not None:
            self.conformity.update(collected.counts)
        if ends_look and (last or not self.fixed):
            self.looks = chunk.look
            self._certify()
        self._judge(at_look=ends_look, last=last)

    def _keep_up(self) -> None:
        """Takes the setup that holds from here on; what another one certified ends with it."""
        while self._later and self.trials >= self._later[0][0]:
            _, setup = self._later.pop(0)
            if setup.certify != self.setup.certify:
                self.setup, self.certified = setup, None

    def _keep(self, chunk: Chunk, collected: Collected) -> None:
        """Keeps first rows of calls, mixed calls, and two disjoint halves of the trials."""
        self._first_rows.append(collected.first_rows)
        if chunk.mixed:
            self._mixed.append(collected.counts)
        half = min(chunk.part // 2, len(self._halves))
        if half == len(self._halves):
            self._halves.append(collected.counts)
        else:
            self._halves[half] += collected.counts

    def independent(self) -> tuple[Counts, list[Counts]]:
        """Returns the counts of independent rows, and those parts of them made in mixed calls.

        Where rows of a call depend on each other, only the first of each call counts.
        """
        if not self.dependent:
            return self.preservation.counts, self._mixed
        first, *others = self._first_rows
        return sum(others, start=first), []

    def log_e_of_company(self) -> float:
        """Returns the evidence that rows of other cases in a call matter, if calls mixed cases."""
        if not self._mixed:
            return 0.0
        first, *others = self._mixed
        mixed = sum(others, start=first)
        return log_e_of_company(mixed, self.preservation.counts, self.setup.laws[0])

    def explain(self, company: str) -> None:
        """Adds to what was proven how it depends on the other rows of a call.

        company: what calls that mix cases show, "" for nothing.
        """
        said = [sentence for sentence in (company, self.dependence.by_size()) if sentence]
        if self.failures:
            first, *others = self.failures
            self.failures = ("; ".join([first, *said]), *others)
        elif self.dependent:
            self.dependent = "; ".join(dict.fromkeys([self.dependent, *said]))

    def done(self) -> bool:
        """Whether this case needs no more trials."""
        if self.fixed or self.limited:
            return False
        if self.failures:
            wanted = self.budget.accept_within
            return wanted is None or self.hard or self._certified_within(wanted)
        return bool(self.dependent) or (
            self.setup.certify != "bias-only" and self._certified_within(self.budget.epsilon)
        )

    def _certified_within(self, epsilon: float) -> bool:
        return self.certified is not None and self.certified <= epsilon

    # A decision is taken once: a failure latches, and so does dependence.

    def _judge(self, *, at_look: bool, last: bool) -> None:
        if self.failures or self.dependent:
            return
        hard, soft = self._hard(), self._soft(last=last)
        if not last and (self.dependence.calls < FEWEST_CALLS or not (hard or soft or at_look)):
            return
        self.dependent = self.dependence.sentence()
        if not self.dependent:
            self.failures, self.hard = (*hard, *soft), bool(hard)
            self.dependent = "" if self.failures else self.dependence.by_size()
        elif not self.dependence.between_calls:
            self.failures = first_row_failures(self.setup, self.budget, self._first_rows)

    def _soft(self, *, last: bool) -> list[str]:
        """Returns proofs of a bias, which a certificate may show to be small."""
        found = self.preservation.deviates()
        return found + (self.preservation.chi_square() if self.fixed and last else [])

    def _hard(self) -> list[str]:
        """Returns proofs that no certificate softens."""
        found = self.preservation.excluded()
        if self.conformity is not None:
            found += self.conformity.deviates(self._kept())
        return found

    def _kept(self) -> str:
        if self.preservation.deviates() or self.preservation.excluded():
            return "failed"
        return "certified" if self._certified_within(self.budget.epsilon) else "undecided"

    def total_variation(self, lens: Lens) -> TotalVariation:
        """Returns TV through a lens; its bounds hold at declared looks only."""
        delta = bound_delta(
            self.budget, look=max(self.looks, 1), lenses=len(self.setup.lenses), fixed=self.fixed
        )
        first, *others = [lens.counts(half) for half in self._halves]
        second = others[0] if others else first * 0
        return total_variation(first, second, probabilities=lens.probabilities, delta=delta)

    def _certify(self) -> None:
        bound = max(self.total_variation(lens).upper for lens in self.setup.lenses)
        self.certified = min(bound, self.certified if self.certified is not None else math.inf)

    def verdict(self) -> Verdict:
        """Returns the verdict on this case as things stand."""
        finding = Finding(
            failures=self.failures,
            hard=self.hard,
            dependent=self.dependent,
            certified=self.certified,
            certify=self.setup.certify,
            trials=self.trials,
            trials_needed=trials_to_certify(self.setup, self.budget),
            limited=self.limited,
            claims=self.setup.claims,
            unobserved=self.unobserved,
        )
        return case_verdict(finding, self.budget)
