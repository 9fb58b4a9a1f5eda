"""DF901: secrets where they would be recorded, and credentials that are none."""

from __future__ import annotations

from collections.abc import Iterator

from dagflow.compiler.rule import Checks, rule
from dagflow.compiler.types.credentials import credentials, secrets_in
from dagflow.compiler.violation import Violation
from dagflow.core.findings import Severity


@rule("DF901", "secret-flow", Severity.ERROR, "typed")
def secret_flow(checks: Checks) -> Iterator[Violation]:
    """A secret is read where it would be written down, or a credential is no secret.

    Inputs, outputs, prompts and events are recorded and shown. A secret reaches a tool through
    its `auth` or a `with`, a python or shell step through `with` (or `stdin`), always whole: there
    it travels as a reference, and its value is put in just before use.

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
            output: string
        outputs:
          digest: ${{ steps.sign.output }}
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
