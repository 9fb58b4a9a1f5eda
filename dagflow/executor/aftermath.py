"""What is done once a batch is stored. What a crash prevents, recovery finds and does."""

from __future__ import annotations

from collections.abc import Sequence

from dagflow.core.run import Change, Kill, StepChanged
from dagflow.core.steps import KINDS
from dagflow.executor.attempts import step_of
from dagflow.executor.dispatch.base import Dispatcher
from dagflow.executor.faults import Reach
from dagflow.executor.held import Held, Turn, bell_key
from dagflow.executor.live.base import LiveBus, Recorded
from dagflow.store.rows import Batch, MessageKey, StoredRun


class Aftermath:
    """Tells watchers and workers what has become of a run."""

    def __init__(self, dispatcher: Dispatcher, live: LiveBus, reach: Reach) -> None:
        self._dispatcher = dispatcher
        self._live = live
        self._reach = reach
        self.rung: set[MessageKey] = set()
        """Messages that were handed to the dispatcher, until that is noted or they are settled."""

    def of_turn(self, held: Held, turn: Turn, batch: Batch, seq: int) -> None:
        """Tell what this process has stored as `batch`; `seq` is that of the last change."""
        run_id = held.run.id
        self.rung.difference_update(batch.settled)
        self._publish(run_id, turn.changes, seq)
        self._reach("before-dispatch")
        for bell in turn.bells():
            self._ring(run_id, bell.path, bell.queue, bell.priority)
        self._reach("after-dispatch")
        self._dispatcher.wake(run_id, held.wake_at)
        for command in turn.commands:
            if isinstance(command, Kill):
                self._dispatcher.stop(run_id, command.path, command.token)

    def of_others(self, held: Held, news: StoredRun) -> None:
        """Tell what another process has stored, and stop attempts that it has ended."""
        self._publish(held.run.id, news.changes, news.seq)
        for change in news.changes:
            if isinstance(change, StepChanged) and change.before == "running" != change.after:
                token = held.run.steps[change.path].token
                self._dispatcher.stop(held.run.id, change.path, token)
        self.resume(held)

    def resume(self, held: Held) -> None:
        """Ring for every step that a worker could claim, and set the run's timer."""
        for path in list(held.run.active):
            step = step_of(held.plan, path)
            if held.run.steps[path].state == "ready" and not KINDS[step.kind].in_engine:
                self._ring(held.run.id, path, step.queue, step.priority)
        self._dispatcher.wake(held.run.id, held.wake_at)

    def _ring(self, run_id: str, path: str, queue: str, priority: int) -> None:
        if self._dispatcher.ring(run_id, path, queue, priority):
            self.rung.add(bell_key(run_id, path))

    def _publish(self, run_id: str, changes: Sequence[Change], seq: int) -> None:
        if self._live.is_watched(run_id):
            for number, change in enumerate(changes, start=seq - len(changes) + 1):
                self._live.publish(Recorded(run_id=run_id, seq=number, change=change))
