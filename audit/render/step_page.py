"""An audit at the step level as one self-contained page, without script."""

from __future__ import annotations

from audit.render.html import STYLE, asset, environment, policy_of
from audit.render.step import (
    ALONE,
    claim_sign,
    legend,
    notes,
    settings_line,
    worst_first,
    wrong_first,
)
from audit.stepping.record import StepRecord

TEMPLATE = "step.html.j2"


def step_page(record: StepRecord) -> str:
    """Returns the page of a record; its bytes depend on the record alone."""
    style, epsilon = asset(STYLE), record.settings.epsilon
    made = environment()
    made.filters.update(
        claim_tone=lambda claim: claim_sign(claim, epsilon).tone,
        share="{:.3f}".format,
        claim_word=lambda claim: claim_sign(claim, epsilon).sign,
    )
    text = made.get_template(TEMPLATE).render(
        record=record,
        diagnoses=record.diagnoses,
        cases=worst_first(record.cases),
        claims=wrong_first(record.cases),
        settings=settings_line(record),
        alone=ALONE[0].upper() + ALONE[1:],
        notes=notes(record),
        legend=legend(record),
        style=style,
        policy=policy_of(style, ""),
    )
    return text.lstrip()
