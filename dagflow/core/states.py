"""The states of a step and of a run, and the moves that a step may make.

Apart from the run itself, so that a check need not import what only an engine uses.
"""

from __future__ import annotations

from enum import Enum
from typing import Final, Literal, TypeAlias


class StepState(Enum):
    """Where a step is."""

    PENDING = "pending"  # some step before it is not final yet
    READY = "ready"  # may be claimed by a worker
    RUNNING = "running"  # claimed; the lease names the worker
    WAITING = "waiting"  # for a time, a person, a signal, a child; the reason says which
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    TIMED_OUT = "timed_out"  # the last attempt's class was `timeout`
    SKIPPED = "skipped"  # guard: `when` was false; upstream: it can't become ready
    CANCELLED = "cancelled"

    @property
    def is_final(self) -> bool:
        """Tell whether nothing more can happen to the step."""
        return self in FINAL


FINAL: Final = frozenset(
    {
        StepState.SUCCEEDED,
        StepState.FAILED,
        StepState.TIMED_OUT,
        StepState.SKIPPED,
        StepState.CANCELLED,
    }
)

FINAL_LABELS: Final = frozenset(
    {"succeeded", "failed", "timed_out", "skipped(guard)", "skipped(upstream)", "cancelled"}
)

WaitReason: TypeAlias = Literal[
    "backoff", "approval", "signal", "timer", "child", "unknown_outcome"
]

STATES: Final = (
    "pending", "ready", "running",
    "waiting(backoff)", "waiting(approval)", "waiting(signal)", "waiting(timer)",
    "waiting(child)", "waiting(unknown_outcome)",
    "succeeded", "failed", "timed_out", "skipped(guard)", "skipped(upstream)", "cancelled",
)  # fmt: skip
"""Every label: a state, with its reason where moves differ by it."""

MOVES: Final[frozenset[tuple[str, str]]] = frozenset(
    (before, after)
    for before, afters in {
        "pending": ("ready", "skipped(guard)", "skipped(upstream)", "failed", "cancelled"),
        "ready": ("running", "failed", "timed_out", "cancelled"),
        "running": (
            "succeeded", "failed", "timed_out", "cancelled", "ready",
            "waiting(backoff)", "waiting(approval)", "waiting(signal)", "waiting(timer)",
            "waiting(child)", "waiting(unknown_outcome)",
        ),
        "waiting(backoff)": ("ready", "failed", "timed_out", "cancelled"),
        "waiting(approval)": ("succeeded", "failed", "timed_out", "cancelled"),
        "waiting(signal)": ("succeeded", "failed", "timed_out", "cancelled"),
        "waiting(timer)": ("succeeded", "failed", "timed_out", "cancelled"),
        "waiting(child)": ("ready", "succeeded", "failed", "timed_out", "cancelled",
                           "waiting(backoff)"),
        "waiting(unknown_outcome)": ("succeeded", "failed", "timed_out", "cancelled"),
    }.items()
    for after in afters
)  # fmt: skip
"""The language's whole table. `failed` from `pending` is class `guard`: `when` had no value."""


class RunState(Enum):
    """Where a run is."""

    QUEUED = "queued"
    RUNNING = "running"
    WAITING = "waiting"  # nothing is ready or running, something waits
    PAUSED = "paused"
    FINISHING = "finishing"  # the outcome is fixed; compensation and finally run
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    TIMED_OUT = "timed_out"
    CANCELLED = "cancelled"

    @property
    def is_final(self) -> bool:
        """Tell whether the run is over."""
        return self in RUN_FINAL


RUN_FINAL: Final = frozenset(
    {RunState.SUCCEEDED, RunState.FAILED, RunState.TIMED_OUT, RunState.CANCELLED}
)
