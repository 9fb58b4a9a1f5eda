"""DF902: values that would become part of a program."""

from __future__ import annotations

from collections.abc import Iterator
from posixpath import basename

from dagflow.compiler.model import StepFacts
from dagflow.compiler.rule import Checks, rule
from dagflow.compiler.violation import Violation
from dagflow.core.findings import Severity
from dagflow.core.plan import Literal_
from dagflow.core.steps.python import Python

_INTERPRETERS = ("sh", "bash", "dash", "zsh", "ksh", "python", "python3", "perl", "ruby", "node")
_CODE_FLAGS = ("-c", "-e", "-lc", "-ec", "--eval")


@rule("DF902", "taint-sink", Severity.ERROR, "typed")
def taint_sink(checks: Checks) -> Iterator[Violation]:
    """A value would be read as code.

    A value that holds a quote or a semicolon could then run anything. Values are given to
    programs as whole arguments or on `stdin`, to python in `with`.

    Bad:

        dagflow: 1
        name: search
        inputs: {word: string}
        steps:
          find:
            shell: [grep, "--regexp=${{ inputs.word }}", notes.txt]  # DF902: an argument is one…
        outputs:
          lines: ${{ steps.find.output.stdout }}

    Good:

        dagflow: 1
        name: search
        inputs: {word: string}
        steps:
          find:
            shell: [grep, --regexp, "${{ inputs.word }}", notes.txt]
        outputs:
          lines: ${{ steps.find.output.stdout }}

    Bad:

        dagflow: 1
        name: run
        inputs: {command: string}
        steps:
          it:
            shell: [sh, -c, "${{ inputs.command }}"]  # DF902: a value would be run as code by `sh`
        outputs:
          said: ${{ steps.it.output.stdout }}

    Good:

        dagflow: 1
        name: run
        inputs: {name: string}
        steps:
          it:
            shell: [sh, -c, 'echo "hello $1"', greet, "${{ inputs.name }}"]
        outputs:
          said: ${{ steps.it.output.stdout }}
    """
    yield from checks.faults("taint-sink")
    for facts in checks.model.steps() if checks.model is not None else ():
        for each in (facts, facts.compensate):
            if each is not None:
                yield from _shell(each)
                yield from _python(each)


def _shell(facts: StepFacts) -> Iterator[Violation]:
    """Find `sh -c <value>`: a whole argument, and code all the same."""
    words = [facts.templates.get(f"argv.{index}") for index in range(3)]
    if facts.kind != "shell" or any(word is None for word in words):
        return
    program, flag, code = words
    assert program is not None
    assert flag is not None
    assert code is not None
    if not isinstance(program.value, Literal_) or not isinstance(flag.value, Literal_):
        return
    name = basename(str(program.value.literal))
    is_code = name in _INTERPRETERS and flag.value.literal in _CODE_FLAGS
    if is_code and not isinstance(code.value, Literal_):
        yield Violation(
            span=code.span,
            message=f"a value would be run as code by `{name}`",
            step=facts.path,
            help="write the code here, and give the value as an argument after it",
        )


def _python(facts: StepFacts) -> Iterator[Violation]:
    body = facts.step.body
    if isinstance(body, Python) and "${{" in body.code.value:
        yield Violation(
            span=body.code.span,
            message="values are not put into python code; give them in `with`",
            step=facts.path,
        )
