"""Workflows registered by name: checked, kept with their source and report, run by version."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace

from dagflow.compiler import children_of
from dagflow.compiler.report.json_report import to_json
from dagflow.compiler.source.parse import parse
from dagflow.core.clock import instant
from dagflow.core.errors import NotFoundError, UsageError
from dagflow.core.plan import Plan
from dagflow.core.values import JsonObject
from dagflow.executor.engine import Engine
from dagflow.service.bundle import Bundle, Document, bundle_of
from dagflow.service.check import Checked, check
from dagflow.store.rows import Registered


class RefusedError(Exception):
    """The workflow has errors; `checked` has the report."""

    def __init__(self, checked: Checked) -> None:
        super().__init__("the workflow does not compile")
        self.checked = checked


@dataclass(frozen=True, slots=True)
class Workflows:
    """The use cases of workflows over one engine's store."""

    engine: Engine

    def check_text(self, text: str, name: str, documents: dict[str, str]) -> Checked:
        """Check a workflow given as text, with the documents of its tools by name.

        Reads no file and fetches nothing: a tool whose document was not given, a workflow called
        by its file, and one called by a name that is not registered, are findings.
        """
        bundle = bundle_of(text, name)
        known = bundle.documents
        given = {
            tool: Document(text=text, location=tool, server=known[tool].server)
            for tool, text in documents.items()
            if tool in known
        }
        whole = replace(bundle, documents={**known, **given})
        return check(whole, registered=self._called(whole))

    def _called(self, bundle: Bundle) -> dict[str, Plan]:
        """Return the plans of the registered workflows that a bundle's steps call by name."""
        workflow = parse(bundle.source).workflow
        found: dict[str, Plan] = {}
        for key in children_of(workflow) if workflow is not None else ():
            name, _, version = key.partition("@")
            with suppress(NotFoundError):
                found[key] = self.plan(name, version or None)
        return found

    def register(self, text: str, name: str, documents: dict[str, str]) -> Registered:
        """Compile and keep a version of a workflow. Raises `RefusedError` with the report.

        The same source again is the same version; a version's plan never changes. A workflow
        that names no version gets one from its plan. Raises `UsageError` for another name,
        `ConflictError` when the version exists with another plan.
        """
        checked = self.check_text(text, f"{name}.yaml", documents)
        if checked.plan is None:
            raise RefusedError(checked)
        plan = checked.plan
        if plan.name != name:
            raise UsageError(
                f"the workflow is named {plan.name!r}, not {name!r}",
                remedy=f"PUT it to /v1/workflows/{plan.name}",
            )
        now = self.engine.clock.now()
        store = self.engine.store
        store.put_plan(plan, now)
        return store.register(
            Registered(
                name=name,
                version=version_of(plan),
                plan=plan.digest,
                source_name=f"{name}.yaml",
                source=text,
                report=to_json(checked.report),
                registered_at=now,
            )
        )

    def plan(self, name: str, version: str | None = None) -> Plan:
        """Return the plan of a registered workflow. Raises `NotFoundError`."""
        return self.engine.store.get_plan(self.get(name, version).plan)

    def get(self, name: str, version: str | None = None) -> Registered:
        """Return a registered workflow, the latest version when none is named."""
        return self.engine.store.get_workflow(name, version)

    def list(self) -> tuple[Registered, ...]:
        """Return the latest version of every workflow."""
        return self.engine.store.list_workflows()

    def versions(self, name: str) -> tuple[Registered, ...]:
        """Return every version of a workflow, the latest first."""
        return self.engine.store.list_versions(name)


def version_of(plan: Plan) -> str:
    """Return the author's version, or else the beginning of the plan's digest."""
    return plan.version or plan.digest.removeprefix("sha256:")[:12]


def registered_view(registered: Registered) -> JsonObject:
    """Return a registered version as JSON."""
    return {
        "name": registered.name,
        "version": registered.version,
        "number": registered.number,
        "plan": registered.plan,
        "registered_at": instant(registered.registered_at),
    }
