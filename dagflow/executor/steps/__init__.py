"""What each step kind does. What each says is in `core/steps`, under the same names."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Final, cast

from dagflow.core.values import JsonValue
from dagflow.executor.steps.base import Attempt, StepContext, StepWork

WORKED: Final = ("tool", "llm", "python", "shell", "transform")
"""The kinds that go to a worker; the engine makes the others itself."""


def _work_of(kind: str) -> StepWork:
    """Return a kind's work, whose module is loaded when the first such step runs."""

    async def work(attempt: Attempt, context: StepContext) -> JsonValue:
        module = importlib.import_module(f"dagflow.executor.steps.{kind}")
        return await cast("StepWork", module.work)(attempt, context)

    return work


WORK: Final[Mapping[str, StepWork]] = {kind: _work_of(kind) for kind in WORKED}
