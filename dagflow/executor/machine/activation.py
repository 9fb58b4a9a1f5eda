"""What an expression sees where it stands: only the variables that it reads, as plain values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final

from dagflow.core.clock import instant
from dagflow.core.references import reference
from dagflow.core.run import Run, StepRecord
from dagflow.core.values import JsonObject, JsonValue
from dagflow.executor.machine.index import Block, PlanIndex, Reads, Site
from dagflow.executor.machine.paths import COMPENSATE, frame_of, split_frame, within


def step_view(record: StepRecord, *, foreach: bool = False) -> JsonObject:
    """Return `steps.<name>`: `output` is there only when the step succeeded.

    `error` is there when it failed, or recovered: what an attempt that was made again died of
    shows in the record alone. A foreach always has `errors`, which is empty when no item failed.
    """
    status, _, rest = record.state.partition("(")
    view: JsonObject = {"status": status}
    if rest:
        view["reason"] = rest[:-1]
    if record.error is not None and (record.recovered or status in {"failed", "timed_out"}):
        view["error"] = {
            "class": record.error.error_class,
            "message": record.error.message,
            "attempt": record.error.attempt,
        }
    if record.errors is not None or foreach:
        view["errors"] = record.errors or []
    if status == "succeeded":
        view["output"] = record.output
    return view


class Scope:
    """Where an expression stands: a frame of a block, inside the frames around it.

    `own` are variables of this one expression (`turn`, `previous`, `error`); they come first.
    `seen` are views that were recorded when the step became ready, which hide the present ones.
    """

    __slots__ = ("block", "frame", "index", "own", "run", "seen")

    def __init__(
        self, index: PlanIndex, run: Run, block: Block, frame: str, own: JsonObject | None = None
    ) -> None:
        self.index = index
        self.run = run
        self.block = block
        self.frame = frame
        self.own = own or {}
        self.seen: JsonValue = None

    def activation(self, reads: Reads) -> JsonObject:
        """Return what these reads need. A variable that isn't there is left out."""
        found: JsonObject = {}
        for root in dict.fromkeys(read[0] for read in reads):
            if root in self.own:
                found[root] = self.own[root]
            elif root in _ROOTS:
                found[root] = _ROOTS[root](self, [read for read in reads if read[0] == root])
            else:
                found.update(self._loop_variable(root))
        return found

    def around(self) -> Iterator[tuple[Block, str]]:
        """Yield the blocks in sight with their frames, from the inside out."""
        block, frame = self.block, self.frame
        while True:
            yield block, frame
            if block.owner is not None:
                frame = home_frame(block.owner, split_frame(frame)[0])
                block = block.owner.block
            elif block.kind == "finally":
                block, frame = self.index.top, ""
            else:
                return

    def _loop_variable(self, name: str) -> JsonObject:
        for block, frame in self.around():
            if block.owner is not None:
                variables = _variables(self.run, block.owner, *split_frame(frame))
                if name in variables:
                    return {name: variables[name]}
        return {}

    def _steps(self, reads: Iterable[tuple[str, ...]]) -> JsonValue:
        names = dict.fromkeys(read[1] for read in reads if len(read) > 1)
        views: JsonObject = {}
        for name in names:
            view = self._step(name)
            if view is not None:
                views[name] = view
        return views

    def _step(self, name: str) -> JsonObject | None:
        if isinstance(self.seen, dict) and name in self.seen:
            return self.seen[name]  # type: ignore[return-value]  # written by `step_view`
        for block, frame in self.around():
            if name in block.sites:
                path = within(frame, name)
                record = self.run.steps.get(path) or StepRecord(path=path)
                return step_view(record, foreach=block.sites[name].step.kind == "foreach")
        return None

    def _inputs(self, reads: Iterable[tuple[str, ...]]) -> JsonValue:  # noqa: ARG002  # as in _ROOTS
        return self.run.inputs

    def _run(self, reads: Iterable[tuple[str, ...]]) -> JsonValue:  # noqa: ARG002  # as in _ROOTS
        run = self.run
        view: JsonObject = {
            "id": run.id,
            "started_at": instant(run.started_at) if run.started_at else "",
            "attempt": run.attempt,
        }
        if run.outcome:
            view["status"] = run.outcome
        return view

    def _secrets(self, reads: Iterable[tuple[str, ...]]) -> JsonValue:
        return {read[1]: reference(read[1]) for read in reads if len(read) > 1}


_ROOTS: Final[dict[str, Callable[[Scope, list[tuple[str, ...]]], JsonValue]]] = {
    "steps": Scope._steps,  # noqa: SLF001  # the table is the class's own
    "inputs": Scope._inputs,  # noqa: SLF001
    "run": Scope._run,  # noqa: SLF001
    "secrets": Scope._secrets,  # noqa: SLF001
}


def scope_of(index: PlanIndex, run: Run, site: Site, path: str) -> Scope:
    """Return the scope of a step's own expressions."""
    scope = Scope(index, run, site.block, home_frame(site, path))
    record = run.steps.get(path)
    if record is not None:
        scope.seen = record.data.get("seen")
    return scope


def home_frame(site: Site, path: str) -> str:
    """Return the frame in which a step's names are looked up; a compensation's is its step's."""
    frame = frame_of(path)
    return frame_of(frame) if site.of is not None and site.name == COMPENSATE else frame


def _variables(run: Run, owner: Site, path: str, index: int) -> JsonObject:
    """Return the variables that a composite gives its inner steps in one frame."""
    record = run.steps.get(path) or StepRecord(path=path)
    if owner.step.kind == "repeat":
        return turn_variables(record, index)
    body = owner.step.body
    name = str(body.get("as") or "item")
    other = body.get("index") or ("index" if name == "item" else f"{name}_index")
    return {name: items_of(record)[index], str(other): index}


def turn_variables(record: StepRecord, turn: int) -> JsonObject:
    """Return `turn` and `previous`.

    On turn 0 there is nothing before: `previous` is an object without fields, so that
    `previous.?x.orValue(d)` gives d, which CEL can't do with a variable that is missing.
    """
    if turn == 0:
        return {"turn": 0, "previous": {}}
    values = record.data.get("values")
    previous = values[turn - 1] if isinstance(values, list) else record.data.get("previous")
    return {"turn": turn, "previous": previous}


def items_of(record: StepRecord) -> list[JsonValue]:
    """Return the list that a foreach goes over, as recorded when it became ready."""
    recorded = record.input
    assert isinstance(recorded, dict)
    body = recorded["body"]
    assert isinstance(body, dict)
    items = body["items"]
    assert isinstance(items, list)
    return items
