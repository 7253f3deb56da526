"""Sampling rules on exact rows: temperature, then top-k, then top-p, in that order.

The order and the meaning of the rules are those of Hugging Face transformers (its logits warpers)
and vLLM (its PyTorch path):
- temperature: probabilities to the power 1/T, which stays rational where 1/T is an integer;
- top_k: every token stays that has fewer than k strictly more probable ones;
- top_p: every token stays whose strictly more probable ones have a mass below top_p, taken on the
  row that top_k left; so the token that crosses top_p stays, and one token always does.

Ties: equally probable tokens stay or go together. For top_k that is what transformers and the
PyTorch path of vLLM do (its Triton path keeps exactly k, vllm #50979). For top_p those two let
the sort decide which of the tied tokens go, in no documented order; FlashInfer keeps all of them,
as here. Temperature 0 is the argmax, ties to the lowest id; the other rules then change nothing.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction

from audit.row import Row

MAX_TEMPERATURE_INVERSE = 64


def one_hot(token: int, vocab_size: int) -> Row:
    """Returns the row that always gives `token`."""
    return Row.normalised(int(other == token) for other in range(vocab_size))


def most_probable(row: Row) -> int:
    """Returns the token with the largest probability, the lowest id among equals.

    >>> most_probable(Row.normalised([1, 2, 2]))
    1
    """
    return int(row.numerators.argmax())


def keep_top_k(weights: list[int], k: int) -> list[int]:
    """Returns the weights with those below the k-th largest set to 0.

    >>> keep_top_k([5, 3, 3, 1], 2)
    [5, 3, 3, 0]
    """
    cut = sorted(weights, reverse=True)[k - 1]
    return [weight if weight >= cut else 0 for weight in weights]


def keep_top_p(weights: list[int], top_p: Fraction) -> list[int]:
    """Returns the weights with those set to 0 that have top_p of the mass strictly above them.

    >>> keep_top_p([5, 3, 2], Fraction(1, 2)), keep_top_p([5, 3, 2], Fraction(3, 5))
    ([5, 0, 0], [5, 3, 0])
    """
    wanted = top_p * sum(weights)
    above = cut = 0
    for weight, times in sorted(Counter(weights).items(), reverse=True):
        if above >= wanted:
            break
        cut = weight
        above += weight * times
    return [weight if weight >= cut else 0 for weight in weights]


@dataclass(frozen=True)
class SamplingRules:
    """The rules that turn a model's row into the row that is sampled from; None is off.

    >>> rules = SamplingRules(temperature_inverse=2, top_k=2)
    >>> [str(v) for v in rules(Row.normalised([3, 2, 1]))]
    ['9/13', '4/13', '0']
    """

    temperature_inverse: int | None = None
    greedy: bool = False
    top_k: int | None = None
    top_p: Fraction | None = None

    def __call__(self, row: Row) -> Row:
        """Returns the row after all rules, renormalised exactly."""
        if self.greedy:
            return one_hot(most_probable(row), len(row))
        weights: list[int] = row.numerators.tolist()
        if self.temperature_inverse is not None:
            weights = [weight**self.temperature_inverse for weight in weights]
        if self.top_k is not None:
            weights = keep_top_k(weights, self.top_k)
        if self.top_p is not None:
            weights = keep_top_p(weights, self.top_p)
        return Row.normalised(weights)

    def describe(self) -> str:
        """Returns the rules in words, "" where all are off.

        >>> SamplingRules(temperature_inverse=2, top_p=Fraction(9, 10)).describe()
        'temperature 1/2, top_p 9/10'
        """
        if self.greedy:
            return "temperature 0 (the most probable token, ties to the lowest id)"
        parts = {
            "temperature": self.temperature_inverse and Fraction(1, self.temperature_inverse),
            "top_k": self.top_k,
            "top_p": self.top_p,
        }
        return ", ".join(f"{name} {value}" for name, value in parts.items() if value is not None)
