"""What happened in a case: every move of every step, in order, of the run and its child runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from dagflow.core.plan import Plan, PlanStep, steps_of
from dagflow.core.run import Change, Run, StepChanged, StepFailure
from dagflow.service.testing.paths import static_of, whole

Reached = tuple[str, str]
"""A part of a plan that a run came to: a static path of a step, and which part of it."""
RAN, SKIPPED, EXPIRED = "ran", "when is false", "expires"


@dataclass(frozen=True, slots=True)
class Question:
    """A step that waits for somebody: the run and its path there, the path from the root run."""

    run_id: str
    path: str
    whole: str
    state: str


@dataclass
class Trace:
    """The moves of a case. `began` are steps by their path from the root run, in order, once.

    `questions` are those not yet taken; `runs` the path of the step that started each run, by id;
    `steps` those of the root run's plan, and `reached` the parts of it that the run came to.
    """

    began: dict[str, None] = field(default_factory=dict)
    questions: list[Question] = field(default_factory=list)
    calls: Counter[str] = field(default_factory=Counter)
    reached: set[Reached] = field(default_factory=set)
    runs: dict[str, str] = field(default_factory=dict)
    steps: dict[str, PlanStep] = field(default_factory=dict)

    def note(self, plan: Plan, run: Run, changes: Iterable[Change]) -> None:
        """Note what a decision changes in a run."""
        self.runs.setdefault(run.id, run.prefix)
        if not self.steps and not run.prefix:
            self.steps.update((step.path, step) for step in steps_of(plan))
        for change in changes:
            if not isinstance(change, StepChanged) or change.before == change.after:
                continue
            path = whole(run.prefix, change.path)
            if change.after == "running":
                self.began.setdefault(path)
            if change.after in ASKING:
                self.questions.append(Question(run.id, change.path, path, change.after))
            if not run.prefix:
                self._reach(self.steps[static_of(change.path)], change)

    def take_questions(self) -> list[Question]:
        """Return the questions that have come up since."""
        found, self.questions = self.questions, []
        return found

    def _reach(self, step: PlanStep, change: StepChanged) -> None:
        if change.after == "running":
            self.reached.add((step.path, RAN))
        elif change.after == "skipped(guard)":
            self.reached.add((step.path, SKIPPED))
        output = change.set.get("output")
        if step.kind == "switch" and isinstance(output, dict) and output.get("branch") is not None:
            self.reached.add((step.path, branch(int(output["branch"]))))
        error = change.set.get("error")
        handled = change.set.get("handled") or change.set.get("recovered")
        if handled and isinstance(error, StepFailure):
            self.reached.add((step.path, _handler(step, error)))


ASKING = frozenset({"waiting(approval)", "waiting(signal)", "waiting(unknown_outcome)"})


def branch(index: int) -> str:
    """Name a branch of a switch."""
    return f"[{index}]"


def handler(index: int) -> str:
    """Name an entry of `on_error`."""
    return f"on_error[{index}]"


def _handler(step: PlanStep, error: StepFailure) -> str:
    """Name what took a failure over: an approval's own expiry, or an entry for the class."""
    if step.body.get("on_expiry") == "goto" and error.error_class == "expired":
        return EXPIRED
    found = (n for n, it in enumerate(step.on_error) if not it.on or error.error_class in it.on)
    return handler(next(found, 0))
