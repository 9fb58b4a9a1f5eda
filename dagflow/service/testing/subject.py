"""The workflow under test: its plan, and the names by which cases may speak of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from dagflow.core.plan import Plan, PlanStep, steps_of
from dagflow.core.records import dataclass
from dagflow.core.values import JsonObject
from dagflow.service.bundle import Bundle, read_bundle
from dagflow.service.check import Checked, check, tool_catalog
from dagflow.service.testing.paths import whole


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """What is tested.

    `steps` are the steps by their static path, those of child runs as `call/fetch`; `tools` each
    one's plan of tools; `pruned` the names that pruning took out of the plan, `merged` those that
    equal steps stand for; `operations` the ids of operations by the names that steps may call
    them; `folders` where the workflows' files are.
    """

    plan: Plan
    steps: Mapping[str, PlanStep]
    pruned: frozenset[str]
    merged: Mapping[str, str]
    operations: Mapping[str, frozenset[str]]
    folders: tuple[str, ...]

    @property
    def signals(self) -> frozenset[str]:
        """Return the names of the signals that steps wait for, in child runs, too."""
        found = (step.body.get("signal") for step in self.steps.values())
        return frozenset(name for name in found if isinstance(name, str))

    @property
    def models(self) -> frozenset[str]:
        """Return the names of the models that steps ask, in child runs, too."""
        asking = (step for step in self.steps.values() if step.kind == "llm")
        return frozenset(model_of(step) for step in asking)


def model_of(step: PlanStep) -> str:
    """Return the name of the model that an llm step asks."""
    return str(step.body.get("model", "default"))


def load(path: str) -> tuple[Subject | None, Checked]:
    """Compile a workflow file as `dagflow check` does; no subject where it is refused.

    Raises `UsageError` when the file can't be read.
    """
    bundle = read_bundle(path)
    checked = check(bundle)
    plan = checked.plan
    if plan is None:
        return None, checked
    subject = Subject(
        plan=plan,
        steps=dict(_steps(plan, "")),
        pruned=frozenset(it.name for it in checked.report.removed if it.kind == "step"),
        merged=dict(checked.report.merged),
        operations=_operations(bundle),
        folders=tuple(dict.fromkeys(_folders(bundle))),
    )
    return subject, checked


def _steps(plan: Plan, prefix: str) -> Iterator[tuple[str, PlanStep]]:
    for step in steps_of(plan):
        path = whole(prefix, step.path)
        yield path, step
        if step.child is not None:
            yield from _steps(step.child, path)


def _operations(bundle: Bundle) -> dict[str, frozenset[str]]:
    """Return the ids of operations by name; the same name in a child may be another tool's."""
    found: dict[str, frozenset[str]] = {}
    for tool in tool_catalog(bundle).tools.values():
        for name, ids in tool.names.items():
            found[f"{tool.name}.{name}"] = frozenset(ids)
    for child in bundle.children.values():
        for name, more in _operations(child).items():
            found[name] = found.get(name, frozenset()) | more
    return found


def _folders(bundle: Bundle) -> Iterator[str]:
    yield str(Path(bundle.folder).resolve())
    for child in bundle.children.values():
        yield from _folders(child)


def wire_of(plan: Plan, step: PlanStep) -> JsonObject:
    """Return the pinned operation that a tool step calls."""
    return plan.tools[str(step.body["operation"])]
