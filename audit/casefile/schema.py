"""The tables of a case file as pydantic models.

A key that is left out takes the default given here. The rows of `[target]` and `[draft]` stand
under free keys, the prefixes, and are read by `rows`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    PlainValidator,
    ValidationError,
    ValidationInfo,
)

from audit.case import Certify, Extend
from audit.casefile import checks
from audit.sampling import SamplingRules
from audit.tree import Drafting

MAX_VOCAB_SIZE = 1_000_000
MAX_SPECULATIVE_TOKENS = 16

Rational = Annotated[Fraction, PlainValidator(checks.rational)]


class Table(BaseModel):
    """Base of all tables: nothing is converted, nothing is ignored."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class SizesTable(Table):
    """The two keys that decide how long rows and prefixes are."""

    vocab_size: Annotated[int, Field(ge=1, le=MAX_VOCAB_SIZE)]
    num_speculative_tokens: Annotated[int, Field(ge=1, le=MAX_SPECULATIVE_TOKENS)]


@dataclass(frozen=True)
class Sizes:
    """The sizes that rows are checked against; None where the file gives no valid one."""

    vocab_size: int | None
    num_speculative_tokens: int | None

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> Sizes:
        """Returns the sizes that a document gives, whatever else is wrong with it."""
        values = {key: document.get(key) for key in SizesTable.model_fields}
        try:
            SizesTable.model_validate(values)
        except ValidationError as error:
            values |= {str(detail["loc"][0]): None for detail in error.errors()}
        return cls(**values)


class HeaderTable(SizesTable):
    """The keys above the first table."""

    id: Annotated[str, AfterValidator(checks.case_id)]
    why: Annotated[str, AfterValidator(checks.sentence)]
    certify: Certify = "full"


class RowsTable(Table):
    """The keys of `[target]` and `[draft]` besides the rows."""

    extend: Extend = "none"


def _top_k(value: int, info: ValidationInfo) -> int:
    sizes: Sizes | None = info.context
    return checks.top_k(value, vocab_size=sizes.vocab_size if sizes else None)


class SamplingTable(Table):
    """`[sampling]`; a rule that is left out is off. The validation context is a Sizes."""

    temperature: Annotated[Rational, AfterValidator(checks.temperature)] = Fraction(1)
    top_k: Annotated[int, AfterValidator(_top_k)] | None = None
    top_p: Annotated[Rational, AfterValidator(checks.top_p)] | None = None
    apply_to: Literal["target", "draft", "both"] = "both"

    @property
    def rules(self) -> SamplingRules:
        """The rules as a function of a row."""
        inverse = self.temperature and 1 / self.temperature
        return SamplingRules(
            temperature_inverse=int(inverse) if inverse > 1 else None,
            greedy=inverse == 0,
            top_k=self.top_k,
            top_p=self.top_p,
        )

    @property
    def sentence(self) -> str:
        """The rules and what they are applied to in words, "" where all are off."""
        words = self.rules.describe()
        sides = {"both": "target and draft"}.get(self.apply_to, self.apply_to)
        return f"{words}, applied to the {sides}" if words else ""


class TreeTable(Table):
    """`[tree]`: the shape of the drafts where they are more than one chain."""

    parents: Annotated[tuple[int, ...], PlainValidator(checks.parents)]
    drafting: Drafting


class GeneratedTable(Table):
    """`[generated]`, which stands in place of `[target]` and `[draft]`."""

    seed: Annotated[int, Field(ge=0, lt=2**31)]
    exponent: Annotated[Rational, AfterValidator(checks.exponent)] = Fraction(1)
    draft_spread: Annotated[int, Field(ge=1, le=1000)] = 16
