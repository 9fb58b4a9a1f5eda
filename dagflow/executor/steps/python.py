"""`python`: a function runs in the cage; its arguments go in and its result comes out as JSON."""

from __future__ import annotations

import json
import re
from typing import Final, cast

from dagflow.core.errors import StepError, ValueRefusedError
from dagflow.core.values import JsonObject, JsonValue, read_json
from dagflow.executor.sandbox.cage import Action, Cage, Outcome
from dagflow.executor.sandbox.process import python_program
from dagflow.executor.steps.base import UNBOUNDED, Attempt, StepContext, service
from dagflow.executor.steps.outcomes import emit_logs, failure, last_line

REFERENCE: Final = re.compile(r"([A-Za-z_][\w.]*):([A-Za-z_]\w*)")

RUNNER: Final = """\
import json, os, sys, traceback
with open("step.json", "rb") as file:
    order = json.load(file)
sys.path[:0] = order["paths"]
try:
    if order["function"]:
        module, _, name = order["function"].partition(":")
        main = getattr(__import__(module, fromlist=[name]), name)
    else:
        names = {"__name__": "step"}
        exec(compile(order["code"], "<step>", "exec"), names)
        main = names.get("main")
        if main is None:
            raise NameError("the code defines no function 'main'")
    said = {"value": main(**order["arguments"])}
    text = json.dumps(said, allow_nan=False)
except BaseException as error:
    traceback.print_exc()
    frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename == "<step>"]
    text = json.dumps({"error": type(error).__name__ + ": " + str(error),
                       "line": frames[-1].lineno if frames else None})
data = text.encode()
while data:
    data = data[os.write(3, data):]
"""


async def work(attempt: Attempt, context: StepContext) -> JsonValue:
    """Run the step's function with its `with` as keyword arguments and return what it returns.

    Raises `StepError`: `user` for an exception in the code, else the wall that was hit.
    """
    cage = service(context, "cage", Cage)
    outcome = await cage.run(_action(attempt, context))
    emit_logs(outcome, context)
    if outcome.kind not in {"ok", "error"}:
        raise failure(outcome, context)
    return _value(outcome, context)


def _action(attempt: Attempt, context: StepContext) -> Action:
    code = str(attempt.step.body["code"]).strip()
    function = code if REFERENCE.fullmatch(code) else ""
    paths = context.services.get("module_paths", ()) if function else ()
    folders = [str(path) for path in cast("tuple[str, ...]", paths)]
    order = {
        "code": "" if function else str(attempt.step.body["code"]),
        "function": function,
        "arguments": context.resolve_secrets(attempt.arguments or {}),
        "paths": folders,
    }
    return Action(
        argv=(python_program(), "-I", "-X", "utf8", "runner.py"),
        files={"step.json": json.dumps(order).encode(), "runner.py": RUNNER.encode()},
        readable=tuple(folders),
        limits=attempt.step.limits,
        timeout=UNBOUNDED,
        network=bool(attempt.step.body.get("network", False)),
    )


def _value(outcome: Outcome, context: StepContext) -> JsonValue:
    if not outcome.result:
        reason = outcome.message or "the function ended the process"
        detail = last_line(outcome.stderr, context)
        raise StepError("user", f"the step gave no result: {reason}{detail and f': {detail}'}")
    said = _read(outcome.result)
    if not isinstance(said, dict) or not said.keys() & {"value", "error"}:
        raise StepError("user", "the step's result is not what the runner writes")
    if "error" in said:
        raise StepError("user", _message(said))
    return said["value"]


def _read(result: bytes) -> JsonValue:
    try:
        return read_json(result)
    except ValueRefusedError as error:
        raise StepError(
            "schema",
            f"the step's result can't be carried: {error.reason} at {error.at}",
            remedy="return JSON values; write integers beyond 64 bits as text",
        ) from error


def _message(said: JsonObject) -> str:
    line = said.get("line")
    place = f" (line {line} of the step's code)" if isinstance(line, int) else ""
    return f"{said['error']}{place}"
