"""One attempt from its start to the event that reports how it ended."""

from __future__ import annotations

import logging
import traceback

from dagflow.core.errors import StepError, ValueRefusedError
from dagflow.core.run import Fail, StepFailure, Succeed
from dagflow.core.values import JsonValue, check_value
from dagflow.executor.steps.base import Attempt, StepWork
from dagflow.executor.steps.context import WorkContext

_log = logging.getLogger(__name__)


async def performed(attempt: Attempt, context: WorkContext, work: StepWork) -> Succeed | Fail:
    """Do the work and return its report; nothing that goes wrong in it is lost.

    Only a cancellation from outside gets through: then there is nothing to report. The time that
    an attempt may take is not looked at here: the engine cancels it, which knows of pauses.
    """
    try:
        return _succeeded(attempt, context, await work(attempt, context))
    except StepError as error:
        return _failed(attempt, context, error)
    except ValueRefusedError as error:
        message = f"the output can't be carried: {error.message}"
        return _failed(attempt, context, StepError("schema", message))
    except Exception as error:  # noqa: BLE001  # the edge: whatever a kind raises is reported
        trace = context.mask_cut(traceback.format_exc())
        _log.error("attempt_broke run_id=%s step=%s\n%s", attempt.run_id, attempt.path, trace)
        message = f"{type(error).__name__}: {error}"
        return _failed(attempt, context, StepError("internal", message))


def _succeeded(attempt: Attempt, context: WorkContext, output: JsonValue) -> Succeed:
    check_value(output)
    return Succeed(
        path=attempt.path, token=attempt.token, output=context.mask(output), used=context.used
    )


def _failed(attempt: Attempt, context: WorkContext, error: StepError) -> Fail:
    remedy = f" ({context.mask(error.remedy)})" if error.remedy else ""
    failure = StepFailure(
        error_class=error.error_class,
        message=_clean(context.mask_cut(error.message) + remedy),
        attempt=attempt.attempt,
        retry_after=error.retry_after,
    )
    return Fail(
        path=attempt.path,
        token=attempt.token,
        error=failure,
        used=context.used,
        unsent=error.unsent,
    )


def _clean(message: str) -> str:
    """Return the message as text that every part of dagflow can carry, of bounded length."""
    carried = message.encode("utf-8", "replace").decode().replace("\0", "�")
    return carried if len(carried) <= 4000 else f"{carried[:4000]}…"  # noqa: PLR2004
