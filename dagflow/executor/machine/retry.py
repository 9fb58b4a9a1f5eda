"""When a failed attempt is made again, and after how long."""

from __future__ import annotations

import hashlib
from datetime import timedelta
from typing import Final

from dagflow.core.plan import RetryPolicy
from dagflow.core.run import StepFailure, StepRecord

LOST_RETRIES: Final = 3
"""How often a lost lease is retried beside the step's own policy."""


def lost_of(record: StepRecord) -> int:
    """Return how many attempts were lost and retried beside the policy."""
    lost = record.data.get("lost", 0)
    assert isinstance(lost, int)
    return lost


def may_retry(policy: RetryPolicy, record: StepRecord, failure: StepFailure) -> bool:
    """Tell whether the policy grants another attempt after this failure."""
    return failure.error_class in policy.on and record.attempt - lost_of(record) < policy.attempts


def delay(
    policy: RetryPolicy, run_id: str, path: str, attempt: int, retry_after: float | None
) -> timedelta:
    """Return the delay after failed attempt number `attempt` (from 1).

    `min(max, backoff·factor^(attempt-1)) · (1 + jitter·u)`, u in [0, 1) from the SHA-256 of run,
    path and attempt; never less than what a server asked for with Retry-After.
    """
    try:
        grown = policy.backoff * policy.factor ** (attempt - 1)
    except OverflowError:
        grown = policy.max
    seconds = min(policy.max, grown) * (1 + policy.jitter * _unit(run_id, path, attempt))
    return timedelta(seconds=max(seconds, retry_after or 0.0))


def _unit(run_id: str, path: str, attempt: int) -> float:
    """Return a number in [0, 1) that is the same wherever it is computed."""
    text = f"{run_id}\0{path}\0{attempt}"
    drawn = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8])
    return (drawn >> 11) / float(1 << 53)
