"""What a workflow with loops comes to, worked out from how its attempts ended.

No state is kept: from the reports so far, in their order, everything is found afresh by walking
down the workflow, each step once, in the order of the file. A report's place in that order is
the only time there is.
"""

from __future__ import annotations

from dataclasses import replace

from dagflow.core.values import JsonValue
from tests.property.joins import edges, joined, moment
from tests.property.loops.frames import over_items, over_turns
from tests.property.loops.happened import AmbiguousError, End, History, Report, Seen, TimeOut
from tests.property.loops.parts import Foreach, LoopFlow, NoValueError, Part, Repeat, sinks
from tests.property.loops.sight import Place, View
from tests.property.loops.written import DEFAULTS, continued

LOST_AT_MOST = 3


class Story:
    """All that is known after some reports: `seen` by run path."""

    def __init__(self, flow: LoopFlow, history: History) -> None:
        self.flow = flow
        self.seen: dict[str, Seen] = {}
        self.reports: dict[str, list[tuple[int, Report]]] = {}
        self.cuts: dict[str, list[int]] = {}
        self.now = len(history)
        until = self.now
        for at, it in enumerate(history, start=1):
            if isinstance(it, Report):
                self.reports.setdefault(it.path, []).append((at, it))
            elif isinstance(it, TimeOut):
                self.cuts.setdefault(it.path, []).append(at)
            else:
                until = min(until, at - 1)
        self.stopped = until < self.now
        self._walk(Place(flow.steps, "", 0, until))
        if self.stopped:
            self._cancel("", until + 1)
        elif flow.stops:
            self._stop(history)

    # ── a block and a step ────────────────────────────────────────────────────────────────────

    def _walk(self, place: Place) -> None:
        for step in place.steps:
            seen = self._step(step, place)
            seen.compensated = step.compensated and seen.state == "succeeded"
            self.seen[place.path(step.name)] = seen

    def _step(self, step: Part, place: Place) -> Seen:
        paths = {it.name: place.path(it.name) for it in place.steps}
        beside = {name: self.seen[path] for name, path in paths.items() if path in self.seen}
        control = edges(step, place.steps, beside)
        verdict = joined(step.join, control)
        needed = [beside[name] for name in step.reads("plain") if name in paths]
        waits = [*needed, *(beside[name] for name in step.reads("ordering") if name in paths)]
        decided = moment(step.join, [(beside[name].at, it) for name, it in control])
        unmet = [it.at for it in needed if it.is_final and it.state != "succeeded"]
        if verdict == "not taken" or unmet:
            certain = [decided, *unmet] if verdict == "not taken" else unmet
            return Seen("skipped(upstream)", at=max(place.since, min(certain)))
        if verdict == "undecided" or not all(it.is_final for it in waits):
            return Seen()
        return self._begin(step, place, max([place.since, decided, *(it.at for it in waits)]))

    def _begin(self, step: Part, place: Place, since: int) -> Seen:
        view = View(self.flow, self.seen, place)
        try:
            if step.when is not None and step.when.value(view) is not True:
                return Seen("skipped(guard)", at=since)
            if step.branches:
                return self._switch(step, view, since)
        except NoValueError:
            return self._failed(step, "guard", since)
        try:
            given = [it.value(view) for it in step.arguments]
            items = step.loop.items.value(view) if isinstance(step.loop, Foreach) else None
        except NoValueError:
            return self._failed(step, "expression", since)
        path = place.path(step.name)
        if isinstance(step.loop, Foreach):
            assert isinstance(items, list)
            return self._attempts(step, path, items, replace(place, since=since))
        if isinstance(step.loop, Repeat):
            return self._attempts(step, path, [], replace(place, since=since))
        return self._work(step, path, given, place.until)

    def _switch(self, step: Part, view: View, at: int) -> Seen:
        for index, (guard, _) in enumerate(step.branches):
            if guard is None or guard.value(view) is True:
                return Seen("succeeded", {"branch": index}, branch=index, at=at)
        return Seen("succeeded", {"branch": None}, at=at)

    def _failed(self, step: Part, error: str, at: int, errors: list[int] | None = None) -> Seen:
        handler = next((it for it in step.handlers if not it.on or error in it.on), None)
        if handler is not None and handler.continue_ is not None:
            output = continued(step, handler.continue_)
            branch = handler.continue_ if step.branches else None
            return Seen("succeeded", output, branch, error, errors or [], at=at)
        state = "timed_out" if error == "timeout" else "failed"
        goto = handler.goto or "" if handler else ""
        return Seen(state, error=error, errors=errors or [], goto=goto, at=at)

    def _work(self, step: Part, path: str, given: list[JsonValue], until: int) -> Seen:
        """Take the reports of this step, one an attempt, until one ends it."""
        lost = failed = 0
        reports = self.reports.get(path, [])
        while reports and reports[0][0] <= until:
            at, report = reports.pop(0)
            if report.ending == "ok":
                return Seen("succeeded", report.output, at=at)
            if report.ending == "lost" and lost < LOST_AT_MOST:
                lost += 1
                continue
            failed += 1
            if report.ending not in step.retried or failed >= step.attempts:
                return self._failed(step, report.ending, at)
        return Seen("open", given=given)

    # ── loops ─────────────────────────────────────────────────────────────────────────────────

    def _attempts(self, step: Part, path: str, items: list[JsonValue], place: Place) -> Seen:
        """Go through the attempts at a loop, of which some are cut off when their time is over."""
        whole: dict[int, End] = {}
        since = place.since
        for attempt in range(1, step.attempts + 1):
            cut = next(iter(self.cuts.get(path, [])), self.now + 1)
            inner = replace(place, since=since, until=min(place.until, cut - 1), around=place)
            if isinstance(step.loop, Foreach):
                seen = self._foreach(step.loop, path, items, whole, inner)
            elif step.loop is not None:
                seen = self._repeat(step.loop, path, inner)
            if seen.state == "open" and cut <= place.until:
                self.cuts[path].pop(0)
                self._cancel(f"{path}[", cut)
                seen = Seen("timed_out", error="timeout", errors=seen.errors, at=cut)
            if seen.state in {"open", "succeeded"}:
                return seen
            since = seen.at
            if seen.error not in step.retried or attempt == step.attempts:
                return self._failed(step, seen.error, seen.at, seen.errors)
        raise AssertionError(path)

    def _foreach(
        self, loop: Foreach, path: str, items: list[JsonValue], whole: dict[int, End], place: Place
    ) -> Seen:
        if len(items) > loop.max_items:
            return Seen("failed", error="exhausted", at=place.since)
        for index in set(range(len(items))) - set(whole):
            self._forget(f"{path}[{index}].")

        def item(index: int, at: int) -> End | None:
            own = {loop.as_: items[index], f"{loop.as_}_index": index}
            return self._frame(loop, f"{path}[{index}]", own, replace(place, since=at))

        return over_items(loop, len(items), whole, place.since, item)

    def _repeat(self, loop: Repeat, path: str, place: Place) -> Seen:
        self._forget(f"{path}[")

        def turn(number: int, previous: JsonValue, at: int) -> End | None:
            own = {"turn": number, "previous": previous}
            return self._frame(loop, f"{path}[{number}]", own, replace(place, since=at))

        return over_turns(loop, place.since, turn)

    def _frame(
        self, loop: Foreach | Repeat, frame: str, own: dict[str, JsonValue], place: Place
    ) -> End | None:
        """Return what an item or a turn came to, or nothing as long as it is at work."""
        inner = replace(place, steps=loop.steps, frame=frame, variables={**place.variables, **own})
        self._walk(inner)
        seen = [self.seen[inner.path(step.name)] for step in loop.steps]
        if not all(it.is_final for it in seen):
            return None
        at = max([place.since, *(it.at for it in seen)])
        error = next((it.error for it in seen if it.is_unhandled), "")
        if error:
            return End(at, error=error)
        view = View(self.flow, self.seen, inner)
        try:
            value = self._value(loop, view)
            is_last = isinstance(loop, Repeat) and loop.until.value(view) is True
        except NoValueError:
            return End(at, error="expression")
        return End(at, value, is_last=is_last)

    @staticmethod
    def _value(loop: Foreach | Repeat, view: View) -> JsonValue:
        if loop.collect is not None:
            return loop.collect.value(view)
        (sink,) = sinks(loop.steps)
        return view.step(sink.name).output

    # ── the paths that are seen ───────────────────────────────────────────────────────────────

    def _forget(self, prefix: str) -> None:
        for path in [path for path in self.seen if path.startswith(prefix)]:
            del self.seen[path]

    def _cancel(self, prefix: str, at: int) -> None:
        for path, it in self.seen.items():
            if path.startswith(prefix) and not it.is_final:
                self.seen[path] = Seen("cancelled", at=at)

    # ── the run ───────────────────────────────────────────────────────────────────────────────

    def _stop(self, history: History) -> None:
        """Go back to the first failure that nothing handled, and cancel what was not over then."""
        failed = sorted((it.at, name) for name, it in self._top().items() if it.is_unhandled)
        if not failed:
            return
        at, name = failed[0]
        before = Story(replace(self.flow, stops=False), history[: max(0, at - 1)])
        if at == 0 or before.seen[name].state != "open":
            raise AmbiguousError
        for path, it in self.seen.items():
            if path == name or path.startswith(f"{name}["):
                before.seen[path] = it
        self.seen = before.seen
        self._cancel("", at)

    def _top(self) -> dict[str, Seen]:
        return {step.name: self.seen[step.name] for step in self.flow.steps}

    def outcome(self) -> tuple[str, str]:
        """Return the state of a run that is over, and the class of its failure."""
        if self.stopped:
            return "cancelled", ""
        error = next((it.error for it in self._top().values() if it.is_unhandled), "")
        return ("failed", error) if error else ("succeeded", "")

    def outputs(self) -> JsonValue:
        """Return what a run that succeeded gives."""
        return {step.name: _given(step, self.seen[step.name]) for step in self.flow.steps}

    def undone(self) -> dict[str, int]:
        """Return what is compensated when the run did not succeed, and when each ended."""
        return {path: it.at for path, it in self.seen.items() if it.compensated}


def _given(step: Part, seen: Seen) -> JsonValue:
    if step.kind not in DEFAULTS:
        return seen.state.partition("(")[0]
    return seen.output if seen.state == "succeeded" else DEFAULTS[step.kind]
