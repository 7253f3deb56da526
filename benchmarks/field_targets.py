"""What the field report audits, and where in the source of a target its failure comes from.

Sizes are small: the packages run on a CPU, and a row that is wrong shows at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Option = float | str

ARCHITECTURES = ("gpt2", "llama")
CHAINS = ("draft-zero", "target-zero", "prefix-dependent-2")
WORLDS = ("basis-1", "prefix-dependent-2")
PROMPT, REPEATING = (1,), (1, 0, 2, 1, 0, 1)  # prompt lookup drafts from what stands there twice
CUT = ("prefix-dependent-2",)  # a nucleus of 0.75 cuts a token off most of its rows


@dataclass(frozen=True)
class Entry:
    """One line of the report.

    n: rounds a case, sequences a world at decode level. epsilon: the TV to certify. options: as
    `draftproof state --option`; architectures and prompt as its options of these names. cause: why
    it fails, where it does. short: rounds or sequences of each run over many seeds.
    """

    name: str
    level: Literal["verify", "step", "decode"] = "verify"
    cases: tuple[str, ...] = CHAINS
    n: int = 20_000
    epsilon: float = 0.03
    options: tuple[tuple[str, Option], ...] = ()
    cause: str = ""
    short: int = 300
    architectures: tuple[str, ...] = ()
    prompt: tuple[int, ...] = PROMPT

    @property
    def title(self) -> str:
        """The name with its options, and the models where these are real ones."""
        return " ".join([self.name, *self._given, *self.architectures])

    @property
    def worlds(self) -> tuple[str, ...]:
        """Where it is audited: cases, and worlds of real models."""
        return (*self.cases, *(f"tiny-{name}" for name in self.architectures))

    @property
    def command(self) -> str:
        """The command that makes the same audit."""
        verb = {"verify": "run", "step": "step", "decode": "state"}[self.level]
        size = "--sequences" if self.level == "decode" else "--samples"
        prompt = "" if self.prompt == PROMPT else f"--prompt {','.join(map(str, self.prompt))}"
        words = [
            *(f"--cases {case}" for case in self.cases),
            *(f"--architecture {name}" for name in self.architectures),
            f"{size} {self.n} --epsilon {self.epsilon}",
            *(f"--option {option}" for option in self._given),
            prompt,
        ]
        return " ".join(["draftproof", verb, self.name, *filter(None, words)])

    @property
    def _given(self) -> list[str]:
        return [
            f"{key}={value if isinstance(value, str) else f'{value:g}'}"
            for key, value in self.options
        ]


def slow(name: str, *cases: str, cause: str = "") -> Entry:
    """Returns the entry of a verifier that goes row by row."""
    return Entry(name, cases=cases or CHAINS, n=3_000, epsilon=0.1, cause=cause)


def loop(
    name: str,
    *cases: str,
    cause: str = "",
    real: tuple[str, ...] = (),
    prompt: tuple[int, ...] = PROMPT,
    **options: Option,
) -> Entry:
    """Returns the entry of a decode loop, in the worlds of cases or of real architectures."""
    where = cases or (() if real else WORLDS)
    given = tuple(options.items())
    return Entry(name, "decode", where, 1_000, 0.2, given, cause, 40, real, prompt)


def interpreted(name: str, level: Literal["verify", "step"] = "verify") -> Entry:
    """Returns the entry of a kernel that may have to be interpreted: about a hundred rounds/s."""
    return Entry(name, level, ("draft-zero",), 600, 0.15, short=30)


YUNSHU = (
    "`yunshu_engine/spec_draft_verifier.py`, `_probabilistic_accept`: after a rejection it calls "
    "`_sample_correction` without the draft's row, which then draws from the whole target row in "
    "place of the residual max(p - q, 0), for certain drafts too; a comment there takes this for "
    "exact."
)
LITGPT = (
    "`litgpt/generate/speculative_decoding.py`, `generate`: the token that `next_token` draws from "
    "the prompt starts the first round, but is never appended to the tokens that are returned, so "
    "that the text lacks its first token."
)
LITGPT_GREEDY = (
    "`litgpt/generate/speculative_decoding.py`, `sample`: at temperature 0 it returns the argmax "
    "beside the soft laws, and drafts are then accepted with min(1, p/q) of these, so that the "
    "draft's argmax stands where the target's is another. At temperature 1 the law holds."
)
LITGPT_TOP_P = (
    "`litgpt/generate/speculative_decoding.py`, `speculative_decoding`: after a rejection it hands "
    "the residual to `sample` with `apply_softmax=False` and top_p; `sample_top_p` takes the "
    "probabilities for logits and writes minus infinity in place of what it cuts, which "
    "`torch.multinomial` refuses."
)
FLASHSPEC_TOP_P = (
    "`flashspec/engine/speculative.py`, `_generate_single` and `_generate_generic`: "
    "`SamplingConfig.top_p`, documented as the nucleus threshold, is read by the `typical` variant "
    "alone; the laws of target and draft are never cut."
)
OTHER_TOKENIZER = (
    "`transformers/generation/candidate_generator.py`, `AssistantToTargetTranslator`: `__init__` "
    "prunes the draft's head to `target_to_assistant_input_ids.values()`, which are in the order "
    "in which `get_vocab` lists the tokens; `get_target_logits` writes its columns to the "
    "target's ids in the order of the draft's ids. A fast tokenizer lists tokens as its hash map "
    "has them, in another order in each process, so that q is a permutation of the law that the "
    "draft came from. Where `get_vocab` lists tokens by id, the law holds "
    "(`tests/test_transformers_forms.py`)."
)

ENTRIES = (
    interpreted("vllm-v1"),
    interpreted("vllm-v1-one-hot"),
    interpreted("vllm-v1-padded"),
    interpreted("vllm-v1-synthetic"),
    interpreted("vllm-v2"),
    interpreted("vllm-v2-block"),
    interpreted("vllm-v2-one-hot"),
    interpreted("vllm-v2-synthetic"),
    interpreted("vllm-v2", "step"),
    interpreted("vllm-v2-block", "step"),
    slow("transformers"),
    Entry("flashspec"),
    Entry("flashspec-one-hot"),
    Entry("flashspec-sample"),
    Entry("economize", n=30_000),
    Entry("economize-one-hot"),
    slow("economize-row"),
    slow("economize-tree-independent", "tree-basis"),
    slow("economize-tree-distinct", "tree-basis-distinct"),
    slow("economize-tree-fixed", "tree-fixed"),
    slow("yunshu", cause=YUNSHU),
    Entry("litgpt-step", "step", ("draft-zero",), 2_000, 0.1, short=100),
    loop("transformers"),
    loop("transformers", "basis-1", real=ARCHITECTURES),
    loop("transformers", "basis-1", form="prompt-lookup", prompt=REPEATING),
    *(
        loop("transformers", real=(name,), form="other-tokenizer", cause=OTHER_TOKENIZER)
        for name in ARCHITECTURES
    ),
    loop("flashspec-engine"),
    loop("flashspec-engine", *CUT, top_p=0.75, cause=FLASHSPEC_TOP_P),
    loop("mlx-lm"),
    loop("mlx-lm", *CUT, top_p=0.75),
    loop("llama-cpp-python", real=("llama",)),
    loop("litgpt", cause=LITGPT),
    loop("litgpt-step", cause=LITGPT_GREEDY),
    loop("litgpt-step", *CUT, top_p=0.75, cause=LITGPT_TOP_P),
)

# What a reader of the figures has to know.
NOTES = (
    "economize: an earlier run of 20,000 rounds a case was INCONCLUSIVE, for its U = 0.0302 was "
    "above epsilon = 0.03; the line is that of a longer run, chosen after this was seen.",
    "transformers form=other-tokenizer: `get_vocab` lists the tokens in another order in each "
    "process, so that another run shows other figures.",
    "litgpt-step: at the step level, and in the law at the decode level, temperature is 1.",
    "Times were measured on a machine that was busy with other work; take them as a rough order.",
)

# Targets without an adapter here, and the command whose error says why.
NOT_RUN = {
    "yunshu, with all it asks for": (
        "pip download --no-deps yunshu==0.1.5",
        "The part that is audited runs on older Pythons too, as `tests/targets.txt` installs it.",
    ),
}
