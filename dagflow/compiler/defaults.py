"""What a step gets where its author said nothing: times, retries, limits, effects."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from datetime import timedelta
from typing import Final, cast

from dagflow.core.errors import ErrorClass
from dagflow.core.plan import CLEANUP_SECONDS, Limits, RetryPolicy
from dagflow.core.source import At
from dagflow.core.steps import KINDS
from dagflow.core.steps.kind import Effects
from dagflow.core.steps.python import Python
from dagflow.core.steps.shell import Shell
from dagflow.core.tool import Operation
from dagflow.core.workflow import Quota, Retry, Step, Workflow

MAX_TOKENS: Final = 512
TEMPERATURE: Final = 0.0
ATTEMPTS_OF_A_RETRY: Final = 3
"""Attempts where `retry` is written without `attempts`."""

RETRIED_BY_DEFAULT: Final = ("tool", "llm", "python", "shell")
"""Kinds that take `defaults.retry`; a composite's parts take it, not the composite."""


def seconds(time: At[timedelta] | None) -> float | None:
    """Return the time in seconds, None where there is none."""
    return None if time is None else time.value.total_seconds()


def cleanup_of(workflow: Workflow) -> float:
    """Return the bound of compensations and `finally` together, in seconds."""
    bound = seconds(workflow.cleanup.deadline) if workflow.cleanup else None
    return CLEANUP_SECONDS if bound is None else bound


def timeout_of(step: Step, workflow: Workflow) -> float | None:
    """Return the bound of one attempt in seconds: the step's, the defaults', or the kind's."""
    own = seconds(step.timeout)
    kind = KINDS[step.kind.value]
    if own is not None or kind.timeout is None:
        return own
    common = seconds(workflow.defaults.timeout) if workflow.defaults else None
    return kind.timeout.total_seconds() if common is None else common


def retry_of(step: Step, workflow: Workflow) -> RetryPolicy:
    """Return the retries of a step: its own fields over those of the defaults."""
    common = workflow.defaults.retry if workflow.defaults else None
    applies = common if step.kind.value in RETRIED_BY_DEFAULT else None
    chosen = [retry for retry in (step.retry, applies) if retry is not None]
    if not chosen:
        return RetryPolicy()
    merged: dict[str, object] = {"attempts": ATTEMPTS_OF_A_RETRY}
    for retry in reversed(chosen):
        merged.update(_retry_fields(retry))
    return RetryPolicy(**merged)  # type: ignore[arg-type]  # the two dataclasses share their names


def _retry_fields(retry: Retry) -> Mapping[str, object]:
    found: dict[str, object] = {}
    for name in ("attempts", "factor", "jitter"):
        value: At[float] | None = getattr(retry, name)
        if value is not None:
            found[name] = value.value if name == "attempts" else float(value.value)
    for name in ("backoff", "max"):
        time = seconds(getattr(retry, name))
        if time is not None:
            found[name] = time
    if retry.on:
        found["on"] = tuple(cast("ErrorClass", item.value) for item in retry.on)
    return found


def limits_of(step: Step, workflow: Workflow) -> Limits:
    """Return the hard limits of a step: its quota's fields over those of the defaults."""
    common = workflow.defaults.quota if workflow.defaults else None
    merged: dict[str, object] = {}
    for quota in (common, step.quota):
        if quota is not None:
            merged.update(_quota_fields(quota))
    return Limits(**merged)  # type: ignore[arg-type]  # the two dataclasses share their names


def _quota_fields(quota: Quota) -> Mapping[str, object]:
    found: dict[str, object] = {}
    for item in fields(Limits):
        value = getattr(quota, item.name)
        if value is not None:
            plain = value.value
            found[item.name] = plain.total_seconds() if isinstance(plain, timedelta) else plain
            if item.name in {"cpu", "share"}:
                found[item.name] = float(plain)
    return found


def effects_of(step: Step, operation: Operation | None) -> Effects:
    """Return what running the step twice does: as written, else by operation, network or kind."""
    if step.effects is not None:
        return cast("Effects", step.effects.value)
    if operation is not None:
        return operation.effects
    body = step.body
    if isinstance(body, Python | Shell) and body.network is not None and body.network.value:
        return "once"
    return KINDS[step.kind.value].effects


def worst_seconds(retry: RetryPolicy, timeout: float) -> float:
    """Return the longest that all attempts with the delays between them can take."""
    delays = (
        min(retry.max, retry.backoff * retry.factor**n) * (1 + retry.jitter)
        for n in range(retry.attempts - 1)
    )
    return retry.attempts * timeout + sum(delays)
