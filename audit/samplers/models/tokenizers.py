"""Two tiny tokenizers whose vocabularies overlap and number their tokens differently.

A token is one character, so that text and tokens are the same thing and nothing is lost by going
from one to the other and back. Importing this module imports transformers.
"""

from __future__ import annotations

import string
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from audit.errors import UsageError

_CHARACTERS = " " + string.ascii_letters + string.digits
UNKNOWN, FOREIGN = "?", "!~"


def vocabularies(size: int) -> tuple[list[str], list[str]]:
    """Returns the tokens by id of a target with `size` tokens, and of its draft with one more.

    The draft numbers the characters backwards, lacks the target's last one and has two of its own:
    equal sizes would make transformers take the two for the same.

    Raises: UsageError for more tokens than there are characters.
    """
    if not 3 <= size <= len(_CHARACTERS):
        raise UsageError(f"a tiny tokenizer has 3 to {len(_CHARACTERS)} tokens, not {size}.")
    characters = _CHARACTERS[: size - 1]
    return [*characters, UNKNOWN], [*reversed(characters[:-1]), *FOREIGN, UNKNOWN]


def tokenizer_of(tokens: Sequence[str]) -> Any:
    """Returns a fast tokenizer of these one-character tokens."""
    ids = {token: number for number, token in enumerate(tokens)}
    tokenizer = Tokenizer(models.WordLevel(ids, unk_token=UNKNOWN))
    tokenizer.pre_tokenizer = pre_tokenizers.Split("", "isolated")
    tokenizer.decoder = decoders.Fuse()
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer)


def tokenized(make: Callable[[], Any], tokens: Sequence[str]) -> Any:
    """Returns a new model with its `tokenizer`, and `fresh()`, which makes both anew.

    Sampling with a draft of another vocabulary prunes that model in place, for good.
    """
    model = make()
    model.tokenizer, model.fresh = tokenizer_of(tokens), partial(tokenized, make, tokens)
    return model
