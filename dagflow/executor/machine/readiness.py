"""How a step gets out of pending: its join, its guard, its templates."""

from __future__ import annotations

from datetime import datetime, timedelta

from dagflow.core.errors import StepError
from dagflow.core.plan import PlanStep, Value
from dagflow.core.references import SECRET_KINDS
from dagflow.core.run import RunState, StepRecord
from dagflow.core.values import JsonObject, JsonValue
from dagflow.executor.machine.activation import Scope, scope_of, step_view
from dagflow.executor.machine.draft import Draft
from dagflow.executor.machine.edges import verdict
from dagflow.executor.machine.ending import enlist, fail_attempt, failure_of, skip
from dagflow.executor.machine.evaluator import truth
from dagflow.executor.machine.index import Block, Site
from dagflow.executor.machine.paths import split_frame, within

_ONE_ATTEMPT = frozenset({"approve", "wait"})


def open_frame(draft: Draft, frame: str, block: Block) -> None:
    """Let the first steps of a frame begin."""
    draft.closed.discard(frame)
    for site in block.roots:
        draft.later("consider", site, frame, "")
    if not block.sites:
        draft.later("complete", frame, block)


def consider(draft: Draft, site: Site, frame: str, cause: str) -> None:
    """Take a pending step out of pending, if what it waits for is decided."""
    path = within(frame, site.name)
    record = draft.run.steps.get(path)
    if (record is not None and record.state != "pending") or not is_live(draft, site.block, frame):
        return
    found = verdict(draft, site, frame, cause)
    if found == "go" and not _outside_met(draft, site):
        found = "skip"
    if found == "skip":
        skip(draft, path, site, "upstream")
    elif found == "go":
        admit(draft, path, site)


def is_live(draft: Draft, block: Block, frame: str) -> bool:
    """Tell whether steps of this frame may still become ready."""
    if block.owner is not None:
        owner = draft.run.steps.get(split_frame(frame)[0])
        return owner is not None and owner.state == "waiting(child)"
    finishing = draft.run.state is RunState.FINISHING
    return finishing if block.kind == "finally" else not (finishing or draft.run.state.is_final)


def _outside_met(draft: Draft, site: Site) -> bool:
    """Tell whether what a `finally` step plainly reads of the run did succeed."""
    return site.block.kind != "finally" or all(
        draft.record(path).state == "succeeded" for path in site.outside
    )


def admit(draft: Draft, path: str, site: Site) -> None:
    """Evaluate the guard and then the templates, and make the step ready or end it."""
    seen = _glimpses(draft, path, site)
    scope = scope_of(draft.index, draft.run, site, path)
    step = site.step
    if step.when is not None:
        try:
            holds = truth(draft.evaluator, step.when, scope.activation(step.when.reads))
        except StepError as error:
            fail_attempt(draft, path, site, failure_of(error), retry=False)
            return
        if not holds:
            skip(draft, path, site, "guard")
            return
    _make_ready(draft, path, site, scope, seen)


def _make_ready(draft: Draft, path: str, site: Site, scope: Scope, seen: JsonObject) -> None:
    fields: dict[str, object] = {"ready_at": draft.now}
    error: StepError | None = None
    try:
        fields["input"] = rendered(draft, site, scope)
    except StepError as raised:
        error = raised
    data = draft.record(path).data
    if seen or data:
        kept = {name: value for name, value in data.items() if name == "then"}
        fields["data"] = {**kept, "seen": seen} if seen else kept
    deadline = _deadline(site)
    if deadline is not None:
        fields["deadline_at"] = draft.now + timedelta(seconds=deadline)
    draft.move(path, site, "ready", **fields)
    if error is None:
        enlist(draft, path, site)
    else:
        fail_attempt(draft, path, site, failure_of(error), retry=False)


def _deadline(site: Site) -> float | None:
    """Return the bound of all attempts in seconds; a kind that has one attempt is bounded by it."""
    bounds = [site.step.deadline]
    if site.step.kind in _ONE_ATTEMPT:
        bounds.append(site.step.timeout)
    return min((bound for bound in bounds if bound is not None), default=None)


def _glimpses(draft: Draft, path: str, site: Site) -> JsonObject:
    """Return the views of what an at_least join doesn't wait for, where it isn't decided yet."""
    if not site.glimpses:
        return {}
    frame = path.rpartition(".")[0]
    views: JsonObject = {}
    for name in site.glimpses:
        producer = within(frame, name)
        record = draft.run.steps.get(producer) or StepRecord(path=producer)
        if not record.is_final:
            views[name] = step_view(record)
    return views


def rendered(draft: Draft, site: Site, scope: Scope) -> JsonObject:
    """Return what a step's templates give. Raises `StepError`: `expression` or `schema`."""
    step, evaluator = site.step, draft.evaluator
    given: JsonValue = None
    if step.arguments is not None:
        given = _rendered(draft, step, scope, step.arguments)
    if step.input_schema is not True and (step.arguments is not None or step.check_input):
        given = {} if given is None else given
        if step.kind != "tool":  # a default in a tool's document is for its server to fill in
            given = evaluator.fill(step.input_schema, given)
        if step.check_input:
            given = evaluator.conform(step.input_schema, given)
    body: JsonObject = {
        name: _rendered(draft, step, scope, value) for name, value in step.templates.items()
    }
    if step.kind == "foreach":
        body["items"] = _items(draft, site, scope)
    return {"with": given, "body": body}


def _rendered(draft: Draft, step: PlanStep, scope: Scope, value: Value) -> JsonValue:
    activation = scope.activation(draft.index.reads_of(value))
    return draft.evaluator.render(value, activation, references=step.kind in SECRET_KINDS)


def _items(draft: Draft, site: Site, scope: Scope) -> JsonValue:
    expression = site.step.expressions["items"]
    items = draft.evaluator.evaluate(expression, scope.activation(expression.reads))
    if not isinstance(items, list):
        kind = type(items).__name__
        raise StepError("expression", f"`{expression.text}` is not a list but a {kind}")
    return items


def earliest(*times: datetime | None) -> datetime | None:
    """Return the first of the times that are known."""
    return min((at for at in times if at is not None), default=None)
