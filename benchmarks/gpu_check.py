"""The checks that need a GPU, in one short run; `--device cpu` rehearses them without one.

1. Drafts and completions on the device equal those of the CPU bit for bit, at any batch size.
2. The reference and rules of trees pass, and every fault of chains that an audit bets on and the
   commonest ones of trees fail, audited on the device.
3. Trials per second of the whole harness on the device, over those of one CPU thread.
"""

from __future__ import annotations

import argparse
import time
from itertools import product

import torch

from audit.exact.catalogue import RULES, headline
from audit.harness.batches import Keys, draft, interleaved
from audit.harness.collect import Bench
from audit.harness.counting import completed
from audit.harness.deck import deck_of
from audit.harness.null import handed_over
from audit.harness.schedule import Chunk
from audit.harness.views import views_of
from audit.run import run_audit
from audit.samplers.registry import load_sampler
from audit.selection import select_cases
from audit.settings import Settings
from audit.verdict import Outcome

CPU = torch.device("cpu")
CASES = ("prefix-dependent-2", "tree-two-levels")
TREE_RULES = ("recursive-rejection", "recursive-rejection-distinct", "target-only")
SPEED_CASES = ("prefix-dependent-2", "zipf-32000")


def drawn(
    case_id: str, device: torch.device, *, rows: int, calls: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """Returns drafts and completions of `rows` trials made in `calls` calls, on the CPU."""
    null = handed_over(select_cases([case_id])[0], torch.float32)
    deck = deck_of([null], dtype=torch.float32, device=device)
    purposes = [Keys.of(deck, seed=1, purpose=purpose) for purpose in ("draft", "completion")]
    drafts, whole = [], []
    for first in range(0, rows, rows // calls):
        own = interleaved(deck, first, first + rows // calls, first_trial=0)
        drafts.append(draft(deck, own, purposes[0]))
        empty = torch.full((rows // calls, deck.gamma + 1), -1, device=device)
        whole.append(completed(deck, own, empty, purposes[1]))
    return torch.cat(drafts).cpu(), torch.cat(whole).cpu()


def trials_a_second(device: torch.device, case_id: str, trials: int) -> float:
    """Returns how many trials a second the harness and the reference make on a device."""
    null = handed_over(select_cases([case_id])[0], torch.float32)
    deck = deck_of([null], dtype=torch.float32, device=device)
    reference = load_sampler("reference", device=str(device))
    views = (views_of(null.case, key=b"k"),)
    bench = Bench(reference, deck, views, seed=1, batch_size=trials // 8)
    bench.collect(Chunk(look=1, part=1, first=0, trials=trials))
    start = time.perf_counter()
    bench.collect(Chunk(look=1, part=2, first=trials, trials=trials))
    return trials / (time.perf_counter() - start)


def check(name: str, passed: bool) -> bool:
    """Prints one line and returns whether the check passed."""
    print(f"{'ok' if passed else 'FAILED':<8}{name}", flush=True)
    return passed


def main() -> None:
    """Prints a line a check and a ratio a speed; exits 1 where a check failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--tier", default="smoke")
    options = parser.parse_args()
    device, results = torch.device(options.device), []
    for case_id, calls in product(CASES, (1, 16)):
        one = drawn(case_id, CPU, rows=2**16, calls=1)
        other = drawn(case_id, device, rows=2**16, calls=calls)
        same = all(torch.equal(a, b) for a, b in zip(one, other, strict=True))
        results.append(
            check(f"{case_id}: drafts and completions equal the CPU's, {calls} calls", same)
        )
    settings = Settings(device=options.device, tier=options.tier)
    done = run_audit("reference", cases=["small", "large"], settings=settings)
    results.append(check("reference passes", done.verdict.outcome is Outcome.PASS))
    for name in TREE_RULES:
        done = run_audit(f"rule:{name}", settings=settings)
        results.append(check(f"{name} passes", done.verdict.outcome is Outcome.PASS))
    for fault in [name for name, rule in RULES.items() if rule.gate and not rule.trees]:
        done = run_audit(f"fault:{fault}", cases=["basis-1", "basis-2"], settings=settings)
        failed = done.verdict.outcome in (Outcome.FAIL, Outcome.ERROR)
        results.append(check(f"{fault} fails", failed))
    for case in select_cases(["trees"]):
        done = run_audit(f"fault:{headline(case)}", cases=[case], settings=settings)
        failed = done.verdict.outcome is Outcome.FAIL
        results.append(check(f"{headline(case)} fails on {case.id}", failed))
    torch.set_num_threads(1)
    for case_id, rows in zip(SPEED_CASES, (2**20, 2**12), strict=True):
        ratio = trials_a_second(device, case_id, rows) / trials_a_second(CPU, case_id, rows // 8)
        print(f"{case_id}: {ratio:.1f} times the trials per second of one CPU thread", flush=True)
    raise SystemExit(0 if all(results) else 1)


if __name__ == "__main__":
    main()
