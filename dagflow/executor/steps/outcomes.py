"""From how an action ended to how its step failed."""

from __future__ import annotations

import signal
from collections.abc import Mapping
from typing import Final

from dagflow.core.errors import ErrorClass, StepError
from dagflow.executor.sandbox.cage import Outcome, OutcomeKind
from dagflow.executor.steps.base import StepContext

CLASSES: Final[Mapping[OutcomeKind, ErrorClass]] = {
    "timeout": "timeout",
    "oom": "oom",
    "pids": "pids",
    "output_limit": "output_limit",
    "sandbox": "sandbox",
    "error": "user",
}
REMEDIES: Final[Mapping[OutcomeKind, str]] = {
    "timeout": "raise the step's `timeout`, or make it do less",
    "oom": "raise `quota: {memory: …}`",
    "pids": "raise `quota: {pids: …}`",
    "output_limit": "raise `quota: {output: …}`, or write less",
    "sandbox": "`dagflow doctor` says what this host lacks",
}
LOG_CAP: Final = 16_384


def failure(outcome: Outcome, context: StepContext) -> StepError:
    """Return the error of an action that did not end well."""
    if outcome.exit_code == -signal.SIGXCPU:
        return StepError("cpu", "used more processor time than `quota: {time}` allows")
    detail = last_line(outcome.stderr, context) if outcome.kind == "error" else ""
    message = f"{outcome.message}{detail and f': {detail}'}"
    return StepError(CLASSES[outcome.kind], message, remedy=REMEDIES.get(outcome.kind, ""))


def emit_logs(outcome: Outcome, context: StepContext) -> None:
    """Send what the action wrote to whoever watches, masked and then cut to a sensible length."""
    for stream, data in (("stdout", outcome.stdout), ("stderr", outcome.stderr)):
        if data:
            text = context.mask_cut(data.decode(errors="replace"))
            context.emit("log", {"stream": stream, "text": text[-LOG_CAP:]})


def last_line(data: bytes, context: StepContext) -> str:
    """Return the last line that is not empty, masked, at most 500 characters of it."""
    lines = context.mask_cut(data.decode(errors="replace")).strip().splitlines()
    return lines[-1][:500] if lines else ""
