"""DF902: values that would become part of a program."""

from __future__ import annotations

from collections.abc import Iterator
from posixpath import basename

from dagflow.compiler.model import StepFacts
from dagflow.compiler.proofs.labels.sinks import Taken, decides, is_approved, taken
from dagflow.compiler.proofs.labels.texts import reached_in
from dagflow.compiler.proofs.labels.trails import worst
from dagflow.compiler.rule import Checks, rule
from dagflow.compiler.violation import Violation
from dagflow.core.findings import Related, Severity
from dagflow.core.plan import Literal_
from dagflow.core.steps.python import Python

_INTERPRETERS = ("sh", "bash", "dash", "zsh", "ksh", "python", "python3", "perl", "ruby", "node")
_CODE_FLAGS = ("-c", "-e", "-lc", "-ec", "--eval")


@rule("DF902", "taint-sink", Severity.ERROR, "graph")
def taint_sink(checks: Checks) -> Iterator[Violation]:
    """A value would be read as code, or text from outside would choose what is done.

    A value that holds a quote or a semicolon could run anything as code. Values are given to
    programs as whole arguments or on `stdin`, to python in `with`.

    Text that somebody outside may have written (the answers of tools and models, signals) may not
    be the program that runs, a model's system message or a request's header, nor name in its
    address what a request changes. What can carry no such text is fine: a number, an enum, a
    format such as `uuid`, a `pattern` of letters and digits; so is what a person saw and approved,
    and a step that says `trust: <why>`.

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

    Bad:

        dagflow: 1
        name: tidy
        inputs: {ticket: string}
        tools:
          helpdesk: {openapi: ./helpdesk.openapi.yaml}
        models: {default: {route: local}}
        steps:
          fetch:
            tool: helpdesk.getTicket
            with: {path: {id: "${{ inputs.ticket }}"}}
          choose:
            llm:
              prompt: "Which ticket is this a duplicate of? ${{ steps.fetch.output.body.text }}"
              max_tokens: 60
            output: {duplicate: {type: string, maxLength: 20}}
          remove:
            tool: helpdesk.removeTicket
            with: {path: {id: "${{ steps.choose.output.duplicate }}"}}  # DF902: text from outside…

    Good:

        dagflow: 1
        name: tidy
        inputs: {ticket: string}
        tools:
          helpdesk: {openapi: ./helpdesk.openapi.yaml}
        models: {default: {route: local}}
        steps:
          fetch:
            tool: helpdesk.getTicket
            with: {path: {id: "${{ inputs.ticket }}"}}
          choose:
            llm:
              prompt: "Which ticket is this a duplicate of? ${{ steps.fetch.output.body.text }}"
              max_tokens: 60
            output: {duplicate: {type: string, maxLength: 20}}
          sure:
            approve:
              message: "Remove ${{ steps.choose.output.duplicate }}?"
              expires: 1h
          remove:
            after: sure
            tool: helpdesk.removeTicket
            with: {path: {id: "${{ steps.choose.output.duplicate }}"}}
    """
    yield from checks.faults("taint-sink")
    for facts in checks.model.steps() if checks.model is not None else ():
        for each in (facts, facts.compensate):
            if each is not None:
                yield from _shell(each)
                yield from _python(each)
                yield from _labelled(checks, each)


def _labelled(checks: Checks, facts: StepFacts) -> Iterator[Violation]:
    model, reach, labels = checks.model, checks.reach, checks.labels
    if model is None or reach is None or labels is None or facts.broken:
        return
    for piece in taken(labels, facts):
        message = decides(labels, piece) or _inside(piece)
        trail = worst(piece.trails)
        if message is None or trail is None:
            continue
        if is_approved(model, reach, labels, piece):
            continue
        yield Violation(
            span=piece.typed.span,
            message=message,
            step=facts.path,
            flow=(*trail.told(), Related(f"{facts.path!r} takes it here", piece.typed.span)),
            help="let its type leave no choice (an enum, a format, a pattern), let a person "
            "approve it, or say `trust: <why>` on the step",
        )


def _inside(piece: Taken) -> str | None:
    """Say what the text would decide in the workflow that is called with it."""
    reached = next((each for each in reached_in(piece) if each.how == "decides"), None)
    return None if reached is None else f"{reached.message}, in {reached.step!r} of what is called"


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
