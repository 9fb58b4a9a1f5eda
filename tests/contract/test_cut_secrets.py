"""Nothing that is shown of a step's work holds a part of a secret, wherever it was cut."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Any

import pytest

from dagflow.core.clock import FakeClock
from dagflow.core.plan import Limits, PlanStep
from dagflow.core.references import reference
from dagflow.core.run import Fail
from dagflow.core.values import JsonObject, JsonValue
from dagflow.executor.live.base import Emitted
from dagflow.executor.live.process import ProcessBus
from dagflow.executor.performing import performed
from dagflow.executor.sandbox.unsafe import UnsafeCage
from dagflow.executor.steps import WORK
from dagflow.executor.steps.base import Attempt
from dagflow.executor.steps.context import WorkContext
from dagflow.executor.steps.outcomes import LOG_CAP

LINE = "wq7Zk2Xv9Lm4Tb8Rn3Hj"
TWO_LINES = f"{LINE}\n{LINE[::-1]}"
PARTS = [text[at : at + 6] for text in (LINE, LINE[::-1]) for at in range(len(LINE) - 5)]


def shown(kind: str, body: JsonObject, given: JsonValue, secret: str, **limits: Any) -> str:
    """Return all that comes out of one attempt: its report, and what watchers are told."""

    async def whole() -> str:
        bus = ProcessBus()
        watcher = bus.subscribe("r")
        step = PlanStep(
            path="s", kind=kind, action="act", effects="idempotent", body=body,
            limits=Limits(**limits),
        )  # fmt: skip
        attempt = Attempt(
            run_id="r", root="r", path="s", attempt=1, token=1, kind=kind, step=step,
            input={"with": given, "body": given}, secrets=frozenset({"KEY"}),
        )  # fmt: skip
        context = WorkContext(
            attempt, clock=FakeClock(), live=bus, secrets=lambda _: secret,
            services={"cage": UnsafeCage()},
        )  # fmt: skip
        report = await performed(attempt, context, WORK[kind])
        watcher.close()
        events = [event.data async for event in watcher if isinstance(event, Emitted)]
        said = report.error.message if isinstance(report, Fail) else report.output
        return json.dumps([said, *events])

    return asyncio.run(whole())


def python(code: str, secret: str = LINE, **limits: Any) -> str:
    return shown("python", {"code": f"def main(key):\n    {code}"}, {"key": reference("KEY")},
                 secret, **limits)  # fmt: skip


def shell(argv: Sequence[JsonValue], parse: str | None = None) -> str:
    return shown("shell", {"parse": parse}, {"argv": list(argv), "stdin": None}, TWO_LINES)


def check(text: str) -> None:
    assert "***" in text
    assert [part for part in PARTS if part in text] == []


@pytest.mark.parametrize("before", [1990, 3980, 3990])
def test_in_an_exceptions_message(before: int) -> None:
    check(python(f"raise ValueError('x' * {before} + key)"))


@pytest.mark.parametrize("secret", [LINE, TWO_LINES])
def test_in_the_last_line_of_a_function_that_gave_no_result(secret: str) -> None:
    check(python("import os, sys; sys.stderr.write('x' * 490 + key); sys.stderr.flush(); "
                 "os._exit(1)", secret))  # fmt: skip


def test_at_the_beginning_of_a_log_that_is_cut_to_its_end() -> None:
    check(python(f"print(key + 'x' * {LOG_CAP - 10})"))


def test_at_the_end_of_a_log_that_its_limit_cut() -> None:
    check(python("print('x' * 990 + key, flush=True); import time; time.sleep(9)", output=1000))


def test_in_an_argument_that_is_none() -> None:
    check(shell(["echo", ["x" * 70 + reference("KEY")]]))


def test_in_the_lines_of_an_output_whose_secret_has_several() -> None:
    check(shell(["printf", "a\n%s\nb", reference("KEY")], "lines"))


def test_in_the_last_line_of_a_programs_errors() -> None:
    check(shell(["sh", "-c", 'printf "%s" "$1" >&2; exit 1', "sh", reference("KEY")], "text"))
