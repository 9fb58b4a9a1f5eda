"""DF901: secrets where they would be recorded, and credentials that are none."""

from __future__ import annotations

from collections.abc import Iterator

from dagflow.compiler.model import StepFacts, Typed
from dagflow.compiler.proofs.labels.sinks import taken
from dagflow.compiler.proofs.labels.trails import DERIVED, Label, Trail
from dagflow.compiler.rule import Checks, rule
from dagflow.compiler.types.credentials import credentials, secrets_in
from dagflow.compiler.violation import Violation
from dagflow.core.findings import Related, Severity

_SHOWN = {
    "llm": "a prompt",
    "approve": "what a person is shown",
    "fail": "a message",
    "workflow": "the inputs of another run",
}
"""Kinds of steps that show what they take to somebody, or have it written down."""


def _derived(checks: Checks) -> Iterator[Violation]:
    """Find what code has made of secrets where it would be shown."""
    model, labels = checks.model, checks.labels
    if model is None or labels is None:
        return
    for facts in model.steps():
        if facts.kind in _SHOWN and not facts.broken:
            for piece in taken(labels, facts, _is_derived):
                where = _SHOWN[facts.kind]
                yield _told(piece.typed, piece.trails[DERIVED], where, facts)
    for name, typed in model.outputs.items():
        trail = labels.of(None, typed).get(DERIVED)
        if trail is not None:
            yield _told(typed, trail, f"output {name!r}", None)


def _is_derived(label: Label) -> bool:
    return label == DERIVED


def _told(typed: Typed, trail: Trail, where: str, facts: StepFacts | None) -> Violation:
    end = "it is shown here" if facts is None else f"{facts.path!r} shows it"
    trusting = "" if facts is None else ", or say `trust: <why>` on the step"
    return Violation(
        span=typed.span,
        message=f"what code made of a secret would be in {where}",
        step=facts.path if facts is not None else "",
        flow=(*trail.told(), Related(end, typed.span)),
        severity=Severity.WARNING,
        help="give on what tells nothing of the secret: a type that leaves no choice (an enum, a "
        f"format, a pattern){trusting}",
    )


@rule("DF901", "secret-flow", Severity.ERROR, "typed", later=("graph", _derived))
def secret_flow(checks: Checks) -> Iterator[Violation]:
    """A secret is read where it would be written down, or a credential is no secret.

    Inputs, outputs, prompts and events are recorded and shown. A secret reaches a tool through
    its `auth` or a `with`, a python or shell step through `with` (or `stdin`), always whole: there
    it travels as a reference, and its value is put in just before use.

    What code without network makes of a secret may tell the secret, and nothing can mask it: where
    it would be in an output, a prompt, an approval, a message or another run's inputs is a warning.

    Bad:

        dagflow: 1
        name: leak
        secrets: [API_KEY]
        steps:
          ask:
            llm:
              prompt: Is ${{ secrets.API_KEY }} a good key?  # DF901: a secret can't be read here…
        outputs:
          answer: ${{ steps.ask.output.text }}

    Good:

        dagflow: 1
        name: sign
        secrets: [API_KEY]
        steps:
          sign:
            python: |
              import hashlib
              def main(key):
                  return hashlib.sha256(key.encode()).hexdigest()
            with: {key: "${{ secrets.API_KEY }}"}
            output: {schema: {type: string, pattern: "^[0-9a-f]{64}$"}}
        outputs:
          digest: ${{ steps.sign.output }}

    Bad:

        dagflow: 1
        name: header
        secrets: [API_KEY]
        steps:
          make:
            python: |
              def main(key):
                  return "Bearer " + key
            with: {key: "${{ secrets.API_KEY }}"}
            output: string
        outputs:
          header: ${{ steps.make.output }}  # DF901: what code made of a secret would be in output…

    Good:

        dagflow: 1
        name: header
        secrets: [API_KEY]
        steps:
          make:
            python: |
              def main(key):
                  return len(key) >= 32
            with: {key: "${{ secrets.API_KEY }}"}
            output: boolean
        outputs:
          is_long: ${{ steps.make.output }}
    """
    yield from checks.faults("secret-flow")
    if checks.model is None:
        return
    workflow = checks.model.workflow
    for node in credentials(workflow):
        found = tuple(secrets_in(node, workflow.source))
        for name, span in found:
            if not name:
                message = "a credential can only hold `${{ secrets.<NAME> }}`"
                yield Violation(span=span, message=message)
        if not found:
            message = (
                "the credential is written in the file; name a secret: `${{ secrets.<NAME> }}`"
            )
            yield Violation(span=node.span, message=message)
