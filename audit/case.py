"""A case: one small, exactly known world in which a sampler is audited.

Rows are conditional on the prefix of tokens emitted so far in the round and stand after all
sampling rules (temperature, top-k, top-p). p means target, q means draft.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from audit.errors import CaseError
from audit.row import Row
from audit.tree import Drafting, Tree

Prefix = tuple[int, ...]
Extend = Literal["none", "repeat", "rotate"]
Certify = Literal["full", "partition"]


def unchanged(row: Row) -> Row:
    """Returns the row itself: no sampling rule is applied."""
    return row


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows of one model by prefix.

    `extend` says how a prefix that is not given gets its row: "none" refuses it; "repeat" takes
    the row of its longest given suffix; "rotate" takes the row given its last token b, rotated
    by the token a before it, so that rows depend on the last two tokens.
    `rule` is applied to every row after that.
    """

    given: Mapping[Prefix, Row]
    extend: Extend = "repeat"
    rule: Callable[[Row], Row] = unchanged
    _known: dict[Prefix, Row] = field(default_factory=dict, init=False, repr=False)

    def __getitem__(self, prefix: Prefix) -> Row:
        """Returns the row after `prefix`. Raises CaseError where the case has none."""
        key = () if self.context_free else prefix
        if key not in self._known:
            self._known[key] = self.rule(self._extended(key))
        return self._known[key]

    @property
    def context_free(self) -> bool:
        """Whether every prefix has the same row."""
        return self.extend == "repeat" and len(self.given) == 1 and () in self.given

    @property
    def reach(self) -> int:
        """How many tokens decide a row: a longer prefix has the row of its last `reach` ones."""
        return 0 if self.context_free else max(map(len, self.given)) + 1

    def _extended(self, prefix: Prefix) -> Row:
        if prefix in self.given:
            return self.given[prefix]
        if self.extend == "repeat":
            for start in range(1, len(prefix) + 1):
                if prefix[start:] in self.given:
                    return self.given[prefix[start:]]
        if self.extend == "rotate" and len(prefix) > 1 and prefix[-1:] in self.given:
            return self.given[prefix[-1:]].rotated(prefix[-2])
        raise CaseError(
            f"no row for prefix {list(prefix)}: {len(self.given)} prefixes are given and "
            f'extend = "{self.extend}" does not make it; add the row or choose another extend.'
        )


@dataclass(frozen=True, eq=False)
class Case:
    """One case; `target` has rows for prefixes of 0..gamma tokens, `draft` for 0..gamma-1.

    `sampling` is the sentence that describes the sampling rules already applied, "" for none.
    `greedy` is true at temperature 0: every target row is one-hot and only the greedy law judges.
    `tree` is the shape of the drafts where they are more than one chain of gamma tokens; gamma is
    then its depth.
    """

    id: str
    why: str
    vocab_size: int
    num_speculative_tokens: int
    target: Rows
    draft: Rows
    certify: Certify = "full"
    sampling: str = ""
    greedy: bool = False
    large: bool = False
    source: str = ""
    tree: Tree | None = None

    def prefixes(self, length: int) -> Iterator[Prefix]:
        """Yields all V^length prefixes in the order of their codes (first token leads)."""
        return itertools.product(range(self.vocab_size), repeat=length)

    @property
    def drafted(self) -> int:
        """The number of drafted tokens of a round: gamma, or the nodes of the tree."""
        return self.num_speculative_tokens if self.tree is None else self.tree.nodes

    @property
    def drafting(self) -> Drafting | None:
        """How the siblings of the draft tree are drawn, None where the drafts are a chain."""
        return None if self.tree is None else self.tree.drafting

    @property
    def context_free(self) -> bool:
        """Whether no row depends on the prefix."""
        return self.target.context_free and self.draft.context_free

    @cached_property
    def hash(self) -> str:
        """The SHA-256 of all that decides a result: sizes, modes, and rows after all rules."""
        gamma = self.num_speculative_tokens
        facts = (self.vocab_size, gamma, self.certify, self.greedy, self.large)
        shape = () if self.tree is None else (self.tree,)
        digest = hashlib.sha256(repr(facts + shape).encode())
        for rows, longest in ((self.target, gamma), (self.draft, gamma - 1)):
            for length in range(1 if rows.context_free else longest + 1):
                for prefix in self.prefixes(length):
                    digest.update(_row_text(rows, prefix).encode())
        return digest.hexdigest()


def _row_text(rows: Rows, prefix: Prefix) -> str:
    try:
        row = rows[prefix]
    except CaseError:
        return f"{prefix}:none;"
    return f"{prefix}:{row.denominator}:{row.numerators.tolist()};"
