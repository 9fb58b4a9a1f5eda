"""DF903: approvals that wait for ever."""

from __future__ import annotations

from collections.abc import Iterator

from dagflow.compiler.rule import Checks, rule
from dagflow.compiler.violation import Violation
from dagflow.core.findings import Severity


@rule("DF903", "approval-endless", Severity.WARNING, "typed")
def approval_endless(checks: Checks) -> Iterator[Violation]:
    """An approval has no expiry.

    If nobody decides, the run waits for ever, and what it would release may be long out of date
    when somebody does. An approval that expires is rejected, never given.

    Bad:

        dagflow: 1
        name: ask
        steps:
          sure:
            approve: {message: Go on?}  # DF903: the approval never expires: the run waits for ever…

    Good:

        dagflow: 1
        name: ask
        steps:
          sure:
            approve: {message: Go on?, expires: 4h}
    """
    for facts in checks.model.steps() if checks.model is not None else ():
        if facts.kind == "approve" and facts.step.body.expires is None:
            yield Violation(
                span=facts.step.body.span,
                message="the approval never expires: the run waits for ever if nobody decides",
                step=facts.path,
                help="give it `expires`",
            )
