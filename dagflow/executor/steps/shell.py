"""`shell`: a program runs in the cage; values reach it as whole arguments or on stdin only."""

from __future__ import annotations

import json
from typing import cast

from dagflow.core.errors import StepError, ValueRefusedError
from dagflow.core.values import JsonValue, read_json
from dagflow.executor.sandbox.cage import Action, Cage, Outcome
from dagflow.executor.steps.base import UNBOUNDED, Attempt, StepContext, service
from dagflow.executor.steps.outcomes import emit_logs, failure


async def work(attempt: Attempt, context: StepContext) -> JsonValue:
    """Run the program and return its output as `parse` says.

    Without `parse`: `{exit_code, stdout, stderr}`, whatever the exit code. With `parse`, an exit
    code other than 0 is an error of class `user`.
    """
    cage = service(context, "cage", Cage)
    outcome = await cage.run(_action(attempt, context))
    emit_logs(outcome, context)
    parse = attempt.step.body.get("parse")
    if outcome.kind == "ok" or (outcome.kind == "error" and outcome.exit_code > 0 and not parse):
        return _output(outcome, parse, context)
    raise failure(outcome, context)


def _action(attempt: Attempt, context: StepContext) -> Action:
    body = context.resolve_secrets(attempt.body)
    assert isinstance(body, dict)
    argv = cast("list[JsonValue]", body["argv"])
    return Action(
        argv=tuple(_text(value, context) for value in argv),
        stdin=_stdin(body.get("stdin")),
        limits=attempt.step.limits,
        timeout=UNBOUNDED,
        network=bool(attempt.step.body.get("network", False)),
    )


def _text(value: JsonValue, context: StepContext) -> str:
    """Write an argument as JSON writes it; strings as they are."""
    if isinstance(value, str):
        return value
    if isinstance(value, list | dict) or value is None:
        shown = json.dumps(context.mask(value))[:80]
        message = f"an argument is {shown}; only text, numbers and booleans fit"
        raise StepError("expression", message, remedy="use `json(x)`, or give it on `stdin`")
    return json.dumps(value)


def _stdin(value: JsonValue) -> bytes:
    if value is None:
        return b""
    return value.encode() if isinstance(value, str) else json.dumps(value).encode()


def _output(outcome: Outcome, parse: JsonValue, context: StepContext) -> JsonValue:
    stdout = _decoded(outcome.stdout, "stdout")
    if parse == "json":
        try:
            return read_json(stdout)
        except ValueRefusedError as error:
            raise StepError("schema", f"stdout is not the JSON that was asked: {error}") from error
    if parse == "lines":
        return list(str(context.mask(stdout)).splitlines())
    if parse == "text":
        return stdout
    stderr = outcome.stderr.decode(errors="replace").replace("\0", "�")
    return {"exit_code": outcome.exit_code, "stdout": stdout, "stderr": stderr}


def _decoded(data: bytes, stream: str) -> str:
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise StepError("schema", f"{stream} is not UTF-8 text ({error.reason})") from error
    if "\0" in text:
        raise StepError("schema", f"{stream} holds the character U+0000")
    return text
