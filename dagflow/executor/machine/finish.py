"""How a run ends: its outcome is fixed, then compensations, then `finally`, then it is over."""

from __future__ import annotations

from datetime import timedelta
from itertools import zip_longest

from dagflow.core.errors import StepError
from dagflow.core.run import RunState, SignalTaken, StepChanged, StepFailure, StepRecord
from dagflow.core.values import JsonObject, JsonValue
from dagflow.executor.machine.activation import Scope
from dagflow.executor.machine.draft import Draft
from dagflow.executor.machine.ending import cancel
from dagflow.executor.machine.index import Block, Site
from dagflow.executor.machine.loops import is_unhandled
from dagflow.executor.machine.paths import COMPENSATE, within
from dagflow.executor.machine.readiness import admit, open_frame
from dagflow.executor.machine.stopping import interrupt, stop_all


def top_ended(draft: Draft) -> None:
    """Fix the outcome of a run whose steps are all final. A paused run stays until it goes on."""
    if draft.run.paused:
        return
    failure = failure_in(draft, draft.index.top)
    if failure is not None:
        begin(draft, "failed", failure)
        return
    try:
        outputs = _outputs(draft)
    except StepError as error:
        begin(draft, "failed", StepFailure(error_class=error.error_class, message=error.message))
    else:
        begin(draft, "succeeded", None, outputs)


def failure_in(draft: Draft, block: Block) -> StepFailure | None:
    """Return the failure of a block's first step (by the file) that failed unhandled."""
    for name in block.sites:
        record = draft.run.steps.get(name)
        if record is not None and is_unhandled(record):
            return failure_of_step(record)
    return None


def failure_of_step(record: StepRecord) -> StepFailure:
    """Return a step's failure as the run's: it names the step."""
    error = record.error
    assert error is not None
    message = f"step {record.path}: {error.message}"
    return StepFailure(error_class=error.error_class, message=message, attempt=error.attempt)


def _outputs(draft: Draft) -> JsonValue:
    plan = draft.plan
    scope = Scope(draft.index, draft.run, draft.index.top, "")
    reads_of = draft.index.reads_of
    outputs: JsonObject = {
        name: draft.evaluator.render(value, scope.activation(reads_of(value)))
        for name, value in plan.outputs
    }
    if plan.outputs_schema is True:
        return outputs
    return draft.evaluator.conform(plan.outputs_schema, outputs)


def stop(draft: Draft, outcome: str, error: StepFailure | None) -> None:
    """Cancel what is not final and fix the outcome."""
    stop_all(draft)
    begin(draft, outcome, error)


def begin(draft: Draft, outcome: str, error: StepFailure | None, outputs: JsonValue = None) -> None:
    """Fix the outcome, and begin what has to be done after it."""
    draft.set_run(
        RunState.FINISHING,
        outcome=outcome,
        error=error,
        outputs=outputs,
        clock_stopped_at=None,
        cleanup_deadline_at=draft.now + timedelta(seconds=draft.plan.cleanup_deadline),
    )
    first = _line_up(draft) if outcome != "succeeded" else None
    if first is not None:
        draft.later("undo", first)
    else:
        _begin_finally(draft)
    if not draft.run.state.is_final:
        draft.wake_at(draft.run.cleanup_deadline_at)


def _line_up(draft: Draft) -> str | None:
    """Chain the compensations, the step that ended last first; return the first of them."""
    if not draft.index.compensated:
        return None
    undone = [
        record
        for record in (draft.run.steps[path] for path in draft.run.steps)
        if record.state == "succeeded" and draft.site(record.path).compensate is not None
    ]
    undone.sort(key=lambda record: -record.ended)
    paths = [within(record.path, COMPENSATE) for record in undone]
    for path, following in zip_longest(paths, paths[1:]):
        draft.apply(
            StepChanged(
                path=path,
                before="pending",
                after="pending",
                at=draft.now,
                set={"data": {"then": following}},
            )
        )
    return paths[0] if paths else None


def undo(draft: Draft, path: str) -> None:
    """Begin one compensation."""
    admit(draft, path, draft.site(path))


def undone(draft: Draft, path: str) -> None:
    """Go on after a compensation, however it ended."""
    following = draft.record(path).data.get("then")
    if following is None:
        _begin_finally(draft)
    else:
        draft.later("undo", following)


def _begin_finally(draft: Draft) -> None:
    block = draft.index.final
    if block.sites:
        open_frame(draft, "", block)
    else:
        _end(draft)


def finally_ended(draft: Draft) -> None:
    """End the run after its `finally`, whose failure fails a succeeded run only."""
    _end(draft, failure_in(draft, draft.index.final))


def _end(draft: Draft, late: StepFailure | None = None) -> None:
    run = draft.run
    for name in run.signals:
        for _ in run.signals[name]:
            draft.apply(SignalTaken(name=name, path=None, at=draft.now))
    fields: dict[str, object] = {"finished_at": draft.now}
    if late is not None and run.outcome == "succeeded":
        fields.update(outcome="failed", error=late, outputs=None)
    draft.set_run(RunState(fields.get("outcome", run.outcome)), **fields)


def give_up(draft: Draft) -> None:
    """End a run whose cleanup deadline has passed: what runs is timed out, the rest cancelled."""
    seconds = draft.plan.cleanup_deadline
    error = StepFailure(
        error_class="timeout", message=f"the cleanup deadline of {seconds:g}s has passed"
    )
    for path in sorted(draft.run.active, key=lambda path: path.count("[")):
        if path in draft.run.active:
            site = draft.site(path)
            interrupt(draft, path, site)
            draft.move(path, site, "timed_out", error=error, due=None, finished_at=draft.now)
    for path, site in _unbegun(draft):
        cancel(draft, path, site)
    draft.work.clear()
    _end(draft, error)


def _unbegun(draft: Draft) -> list[tuple[str, Site]]:
    """Return the compensations and `finally` steps that are still pending."""
    waiting = [
        (path, draft.site(path))
        for path in draft.run.steps
        if path.endswith(f".{COMPENSATE}") and draft.record(path).state == "pending"
    ]
    final = draft.index.final.sites.items()
    return waiting + [item for item in final if draft.record(item[0]).state == "pending"]
