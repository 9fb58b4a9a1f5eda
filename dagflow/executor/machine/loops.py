"""foreach and repeat: frames opened one after another, and what their steps come to.

A foreach remembers `next` (how many of its items were begun), `open` (how many of those run) and
`failed`; a repeat its `turn` and the `previous` turn's value. What an item or a turn gave is not
copied: it is read from the inner steps' records.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from dagflow.core.errors import StepError
from dagflow.core.run import StepFailure, StepRecord, StepsReset
from dagflow.core.values import JsonObject, JsonValue
from dagflow.executor.machine import budget
from dagflow.executor.machine.activation import Scope, items_of, turn_variables
from dagflow.executor.machine.draft import Draft
from dagflow.executor.machine.ending import checked, fail_attempt, failure_of, succeed
from dagflow.executor.machine.evaluator import truth
from dagflow.executor.machine.index import Block, Site
from dagflow.executor.machine.paths import frame_at, name_of, within

# ── foreach ───────────────────────────────────────────────────────────────────────────────────


def start_foreach(draft: Draft, path: str, site: Site) -> None:
    """Begin the items; a retry begins only those that failed or were never begun."""
    record = draft.record(path)
    items = items_of(record)
    todo: list[JsonValue] | None = None
    if record.data.get("next") is None:
        _check_size(draft, site, len(items))
        budget.use(draft, {"items": len(items)})
    else:
        todo = [i for i in range(len(items)) if not _is_whole(draft, site, path, i)]
        _reset(draft, path, site, (i for i in todo if isinstance(i, int)))
    data: JsonObject = {**record.data, "next": 0, "open": 0, "failed": 0}
    if todo is not None:
        recorded = record.input
        assert isinstance(recorded, dict)
        again: JsonObject = {**recorded, "todo": todo}
        draft.move(path, site, "waiting(child)", data=data, input=again, errors=None)
    else:
        draft.move(path, site, "waiting(child)", data=data)
    _go_on(draft, path, site, data)


def _check_size(draft: Draft, site: Site, count: int) -> None:
    bound = site.step.body.get("max_items")
    if isinstance(bound, int) and count > bound:
        raise StepError("exhausted", f"{count} items are more than max_items ({bound})")
    limit = budget.limit_of(draft, "items")
    used = budget.used_of(draft, "items")
    if limit is not None and used + count > limit:
        raise StepError(
            "budget", f"{count} items and the {used:g} so far are more than the budget ({limit})"
        )


def _is_whole(draft: Draft, site: Site, path: str, index: int) -> bool:
    """Tell whether an item ended, and well: nothing in it was cut off."""
    assert site.inner is not None
    frame = frame_at(path, index)
    if draft.run.done.get(frame, 0) != site.inner.size:
        return False
    steps = draft.run.steps
    if any(steps[within(frame, name)].state == "cancelled" for name in site.inner.sites):
        return False
    return _entry(draft, path, site, index)[1] is None


def item_ended(draft: Draft, path: str, site: Site, index: int) -> None:
    """Count an item that ended, and begin what may begin."""
    data = draft.record(path).data
    failure = _entry(draft, path, site, index)[1]
    counts = {
        "open": _count(data, "open") - 1,
        "failed": _count(data, "failed") + (failure is not None),
    }
    _go_on(draft, path, site, {**data, **counts})


def _go_on(draft: Draft, path: str, site: Site, data: JsonObject) -> None:
    """Begin items while there is room, or end the loop when nothing is left; `data` counts."""
    todo = _todo(draft.record(path))
    begun, running, failed = (_count(data, name) for name in ("next", "open", "failed"))
    room = _setting(site, "concurrency", 1) - running
    more = 0 if failed > _setting(site, "tolerate", 0) else max(0, min(room, len(todo) - begun))
    data = {**data, "next": begun + more, "open": running + more}
    if data != draft.record(path).data:
        draft.note(path, data=data)
    for index in todo[begun : begun + more]:
        draft.later("open", frame_at(path, index), site.inner)
    if running + more == 0:
        _end_foreach(draft, path, site)


def _todo(record: StepRecord) -> range | list[int]:
    recorded = record.input
    if isinstance(recorded, dict) and isinstance(recorded.get("todo"), list):
        return recorded["todo"]  # type: ignore[return-value]  # indices, written above
    return range(len(items_of(record)))


def _end_foreach(draft: Draft, path: str, site: Site) -> None:
    entries: list[JsonValue] = []
    failures: dict[int, StepFailure] = {}
    for index in range(len(items_of(draft.record(path)))):
        entry, failure = _entry(draft, path, site, index)
        entries.append(entry)
        if failure is not None:
            failures[index] = failure
    errors = _told(failures)
    if len(failures) > _setting(site, "tolerate", 0):
        draft.note(path, errors=errors)
        fail_attempt(draft, path, site, failures[min(failures)])
    else:
        _finish(draft, path, site, entries, errors=errors)


def note_failed(draft: Draft, path: str, site: Site) -> None:
    """Record which items failed of a foreach that is about to be cut off, of those that ended."""
    if site.step.kind != "foreach" or draft.record(path).state != "waiting(child)":
        return
    assert site.inner is not None
    done, whole = draft.run.done, site.inner.size
    ended = (
        index
        for index in range(len(items_of(draft.record(path))))
        if done.get(frame_at(path, index), 0) == whole
    )
    failures = {index: _entry(draft, path, site, index)[1] for index in ended}
    told = _told({index: it for index, it in failures.items() if it is not None})
    if told:
        draft.note(path, errors=told)


def _told(failures: Mapping[int, StepFailure]) -> list[JsonValue]:
    return [
        {"index": index, "class": failure.error_class, "message": failure.message}
        for index, failure in failures.items()
    ]


def _entry(draft: Draft, path: str, site: Site, index: int) -> tuple[JsonValue, StepFailure | None]:
    """Return what an item gave, or null and why it failed (null alone: it was never begun)."""
    assert site.inner is not None
    frame = frame_at(path, index)
    if not draft.run.done.get(frame) and site.inner.sites:
        return None, None
    failure = first_failure(draft, site.inner, frame, f"item {index}")
    if failure is not None:
        return None, failure
    try:
        return frame_value(draft, site, frame), None
    except StepError as error:
        return None, failure_of(error)


# ── repeat ────────────────────────────────────────────────────────────────────────────────────


def start_repeat(draft: Draft, path: str, site: Site) -> None:
    """Begin turn 0; a retry begins there again."""
    data = draft.record(path).data
    if "turn" in data:
        _reset(draft, path, site, range(_count(data, "turn") + 1))
    kept = {name: value for name, value in data.items() if name not in {"previous", "values"}}
    draft.move(path, site, "waiting(child)", data={**kept, "turn": 0})
    draft.later("open", frame_at(path, 0), site.inner)


def turn_ended(draft: Draft, path: str, site: Site, turn: int) -> None:
    """Look at a turn that ended: the loop is over, failed, or goes on."""
    assert site.inner is not None
    frame = frame_at(path, turn)
    failure = first_failure(draft, site.inner, frame, f"turn {turn}")
    if failure is not None:
        fail_attempt(draft, path, site, failure)
        return
    try:
        value = frame_value(draft, site, frame)
        until = site.step.expressions["until"]
        over = _is_over(draft, path, site, turn)
    except StepError as error:
        fail_attempt(draft, path, site, failure_of(error))
        return
    if over:
        _finish(draft, path, site, value)
    elif turn + 1 < _setting(site, "max", 1):
        draft.note(path, data=_next_turn(site, draft.record(path).data, value))
        draft.later("open", frame_at(path, turn + 1), site.inner)
    elif site.step.body.get("on_max") == "succeed":
        _finish(draft, path, site, value)
    else:
        message = f"`{until.text}` did not hold after {turn + 1} turns"
        exhausted = StepFailure(error_class="exhausted", message=message)
        fail_attempt(draft, path, site, exhausted)


def _next_turn(site: Site, data: JsonObject, value: JsonValue) -> JsonObject:
    """Return what a repeat remembers in its next turn.

    Every turn's value where a compensation may have to see what its step saw, else the last.
    """
    after: JsonObject = {**data, "turn": _count(data, "turn") + 1, "previous": value}
    if site.inner is not None and site.inner.compensated:
        values = data.get("values")
        after["values"] = [*(values if isinstance(values, list) else ()), value]
    return after


def _is_over(draft: Draft, path: str, site: Site, turn: int) -> bool:
    assert site.inner is not None
    until = site.step.expressions["until"]
    own = turn_variables(draft.record(path), turn)
    scope = Scope(draft.index, draft.run, site.inner, frame_at(path, turn), own)
    return truth(draft.evaluator, until, scope.activation(until.reads), "expression")


# ── both ──────────────────────────────────────────────────────────────────────────────────────


def first_failure(draft: Draft, block: Block, frame: str, where: str) -> StepFailure | None:
    """Return the failure of the first step (by the file) that failed and was not handled."""
    steps = draft.run.steps
    for name in block.sites:
        record = steps.get(within(frame, name))
        if record is not None and is_unhandled(record):
            return _lifted(record, f"{where}, step {name}")
    return None


def is_unhandled(record: StepRecord) -> bool:
    """Tell whether a step ended by a failure that nothing took over."""
    return record.state in {"failed", "timed_out"} and not record.handled


def _lifted(record: StepRecord, where: str) -> StepFailure:
    error = record.error
    assert error is not None
    return StepFailure(error_class=error.error_class, message=f"{where}: {error.message}")


def frame_value(draft: Draft, site: Site, frame: str) -> JsonValue:
    """Return what a frame gave: `collect`, or the only sink's output, null when it has none."""
    assert site.inner is not None
    collect = site.step.expressions.get("collect")
    if collect is not None:
        scope = Scope(draft.index, draft.run, site.inner, frame)
        return draft.evaluator.evaluate(collect, scope.activation(collect.reads))
    sink = site.step.body.get("collect_step")
    record = draft.run.steps.get(within(frame, name_of(str(sink)))) if sink else None
    return record.output if record is not None and record.state == "succeeded" else None


def _finish(draft: Draft, path: str, site: Site, output: JsonValue, **fields: object) -> None:
    try:
        output = checked(draft, site, output)
    except StepError as error:
        fail_attempt(draft, path, site, failure_of(error))
    else:
        succeed(draft, path, site, output, **fields)


def _reset(draft: Draft, path: str, site: Site, indices: Iterable[int]) -> None:
    """Make every step of these frames pending again, those of loops inside them too."""
    steps: list[str] = []
    todo: list[tuple[str, Block | None]] = [(frame_at(path, i), site.inner) for i in indices]
    while todo:
        frame, block = todo.pop()
        assert block is not None
        for inner in block.sites.values():
            found = within(frame, inner.name)
            record = draft.run.steps.get(found)
            if record is not None:
                steps.append(found)
                todo.extend((each, inner.inner) for each in _frames(record, found, inner))
    if steps:
        draft.apply(StepsReset(path=path, steps=tuple(steps), at=draft.now))


def _frames(record: StepRecord, path: str, site: Site) -> Iterator[str]:
    """Yield the frames that a composite may have opened."""
    count = 0
    if site.step.kind == "repeat" and "turn" in record.data:
        count = _count(record.data, "turn") + 1
    elif site.step.kind == "foreach" and "next" in record.data:
        count = len(items_of(record))
    yield from (frame_at(path, index) for index in range(count))


def _count(data: JsonObject, name: str) -> int:
    value = data[name]
    assert isinstance(value, int)
    return value


def _setting(site: Site, name: str, default: int) -> int:
    value = site.step.body.get(name)
    return value if isinstance(value, int) else default
