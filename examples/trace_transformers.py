"""Records the rounds of transformers' assisted generation for `draftproof trace`.

Nothing is patched: the assistant's own `generate` gives drafts and their scores, a streamer the
tokens of each round, and `output_scores` the target's scores of the emitted tokens.
"""

import json


class Rounds:
    """A streamer that keeps what every round emitted; the prompt comes first."""

    def __init__(self):
        self.tokens = []

    def put(self, tokens):
        """Keeps the tokens of one round."""
        self.tokens.append(tokens.flatten().tolist())

    def end(self):
        """Does nothing."""


def generate_and_log(file, model, assistant, input_ids, **options):
    """Returns the generated ids, and writes a line of JSON for every round that drafted."""
    drafts, rounds, generate = {}, Rounds(), assistant.generate

    def drafting(*args, **kwargs):
        output = generate(*args, **kwargs)
        start = output.sequences.shape[1] - len(output.scores)
        drafts[start] = (output.sequences[0, start:].tolist(), [s[0] for s in output.scores])
        return output

    assistant.generate = drafting
    try:
        output = model.generate(
            input_ids, assistant_model=assistant, do_sample=True, streamer=rounds,
            return_dict_in_generate=True, output_scores=True, **options,
        )  # fmt: skip
    finally:
        del assistant.generate
    write_rounds(file, rounds.tokens, drafts, output.scores)
    return output.sequences


def write_rounds(file, tokens, drafts, scores):
    """Writes the rounds; a score is a logit after all processors, a round may end with a stop."""
    prompt, *rounds = tokens
    start = len(prompt)
    for i, emitted in enumerate(rounds):
        if start in drafts:
            drafted, draft_scores = drafts[start]
            rows = scores[start - len(prompt) :][: len(emitted)]
            record = {
                "draft_token_ids": drafted,
                "emitted_token_ids": emitted,
                "target_logits": [row[0].tolist() for row in rows],
                "draft_logits": [row.tolist() for row in draft_scores],
                "stopped": i == len(rounds) - 1,
                "position": start,
            }
            file.write(json.dumps(record) + "\n")
        start += len(emitted)
