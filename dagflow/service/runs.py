"""What can be asked of runs, whoever asks: the CLI, the REST API, a page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from dagflow.core.errors import ConflictError, DagflowError, NotFoundError, UsageError
from dagflow.core.plan import Plan
from dagflow.core.run import Cancel, Decide, Event, Pause, Resume, Run, Settle, Signal
from dagflow.core.values import JsonObject, JsonValue, check_value
from dagflow.executor.engine import Engine
from dagflow.service import views
from dagflow.store.rows import Approval, IdempotencyKey, RunPage, RunQuery, StepRow, StoredEvent

OTHER_REFUSALS: Final[tuple[tuple[str, type[DagflowError]], ...]] = (
    ("has the wrong type", UsageError),
    ("does not fit", UsageError),
    ("the plan has no step", NotFoundError),
)
"""What the engine says where not the run's state is to blame, but what was asked."""


@dataclass(frozen=True, slots=True)
class Runs:
    """The use cases of runs over one engine.

    Every method raises `NotFoundError` for a run or approval that does not exist,
    `ConflictError` where its state does not allow what was asked, and `UnavailableError` when
    the database can't be used.
    """

    engine: Engine

    def submit(
        self,
        plan: Plan,
        inputs: JsonObject,
        *,
        key: IdempotencyKey | None = None,
        deadline: timedelta | None = None,
    ) -> str:
        """Start a run of a plan and return its id. `deadline` can only shorten the plan's."""
        deadline_at = self.engine.clock.now() + deadline if deadline is not None else None
        return self.engine.submit(plan, inputs, key=key, deadline_at=deadline_at)

    def show(self, run_id: str) -> JsonObject:
        """Return a run with its steps."""
        return views.run_view(self.engine.run(run_id), self.engine.plan_of(run_id))

    def get(self, run_id: str) -> Run:
        """Return a run, to read only."""
        return self.engine.run(run_id)

    def plan_of(self, run_id: str) -> Plan:
        """Return the plan of a run."""
        return self.engine.plan_of(run_id)

    def list(self, query: RunQuery) -> RunPage:
        """Return a page of runs, newest first."""
        return self.engine.store.list_runs(query)

    def events(self, run_id: str, *, after: int, limit: int) -> tuple[StoredEvent, ...]:
        """Return recorded changes after a place in the log."""
        self.engine.store.get_run(run_id)
        return self.engine.store.events(run_id, after=after, limit=limit)

    def cancel(self, run_id: str, *, by: str = "", reason: str = "") -> None:
        """Stop a run: no step starts any more but compensation and `finally`.

        Cancelling a run that is being cancelled is fine.
        """
        refused = self.engine.handle(run_id, Cancel(by=by, reason=reason)).refused
        if refused and not self._is_being_cancelled(run_id):
            _check(run_id, refused)

    def pause(self, run_id: str) -> None:
        """Start no more steps until `resume`."""
        self._do(run_id, Pause())

    def resume(self, run_id: str) -> None:
        """End a pause."""
        self._do(run_id, Resume())

    def signal(self, run_id: str, name: str, payload: JsonValue) -> None:
        """Send a signal; refused when no step of the run can still take it.

        Raises `UsageError` for a payload of the wrong type.
        """
        check_value(payload)
        self._do(run_id, Signal(name=name, payload=payload))

    def settle(
        self, run_id: str, path: str, *, succeeded: bool, output: JsonValue, by: str
    ) -> None:
        """Say what came of a step whose outcome is unknown.

        Settled as not done it fails with class `conflict`. Raises `UsageError` for an output that
        the step's type does not allow, `NotFoundError` for a step that the plan does not have.
        """
        check_value(output)
        if output is not None and not succeeded:
            raise UsageError("a step that is settled as not done has no output")
        self._do(run_id, Settle(path=path, succeeded=succeeded, output=output, by=by))

    def unsettled(self, run_id: str) -> tuple[StepRow, ...]:
        """Return the steps of a run whose outcome a person must settle."""
        steps = self.engine.store.steps(run_id)
        return tuple(step for step in steps if step.state == "waiting(unknown_outcome)")

    def approvals(self, run_id: str | None = None) -> tuple[Approval, ...]:
        """Return what waits for a person, the longest waiting first."""
        return self.engine.store.approvals(run_id=run_id)

    def approval(self, approval_id: str) -> Approval:
        """Return one approval."""
        return self.engine.store.get_approval(approval_id)

    def decide(
        self, approval_id: str, *, approve: bool, by: str, comment: str = "", arguments: str = ""
    ) -> None:
        """Answer an approval. `arguments` is the hash of what the person saw, which must match.

        Without it the hash of what is asked now is taken: right where the answer is given on
        the very thing that was just shown.
        """
        if not by:
            raise UsageError("an approval needs the name of who decides")
        found = self.approval(approval_id)
        seen = arguments or hash_of(found)
        answer = Decide(path=found.path, approve=approve, by=by, comment=comment, arguments=seen)
        self._do(found.run_id, answer)

    def _is_being_cancelled(self, run_id: str) -> bool:
        run = self.engine.run(run_id)
        return run.cancel_requested and not run.state.is_final

    def _do(self, run_id: str, event: Event) -> None:
        _check(run_id, self.engine.handle(run_id, event).refused)


def _check(run_id: str, refused: Sequence[str]) -> None:
    """Raise what the engine refused, which names the run or is about a part of it."""
    for why in refused:
        named = why.startswith(f"run {run_id} ")
        kind = next((kind for said, kind in OTHER_REFUSALS if said in why), ConflictError)
        raise kind(why if named else f"run {run_id}: {why}")


def hash_of(approval: Approval) -> str:
    """Return the hash of the exact arguments that an approval releases."""
    data = approval.body.get("data")
    found = data.get("hash") if isinstance(data, dict) else None
    return found if isinstance(found, str) else ""
