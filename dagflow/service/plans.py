"""A plan for a run: compiled from a workflow file, or read from a plan file as it stands."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from dagflow.core.errors import UsageError, ValueRefusedError
from dagflow.core.plan import MAX_PLAN_DEPTH, Plan
from dagflow.core.plan_json import from_json
from dagflow.core.site import NOWHERE_YET, Site
from dagflow.core.values import JsonObject, read_json
from dagflow.service.bundle import read_bundle
from dagflow.service.check import Checked, check

MAX_PLAN: Final = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Loaded:
    """A plan, or the report that says why there is none."""

    plan: Plan | None
    checked: Checked | None


def load_plan(file: str, *, site: Site = NOWHERE_YET) -> Loaded:
    """Read a plan file, or compile a workflow file for a site.

    A file named `*.json` is a plan when it is JSON with a `plan_version`. Raises `UsageError`
    for one that is no JSON, or a plan that is not whole.
    """
    value = _json(file) if file.endswith(".json") else None
    if value is not None and "plan_version" in value:
        return Loaded(from_json(value), None)
    checked = check(read_bundle(file), site=site)
    return Loaded(checked.plan, checked)


def _json(file: str) -> JsonObject | None:
    path = Path(file)
    if not path.is_file():
        return None
    if path.stat().st_size > MAX_PLAN:
        raise UsageError(f"{file} is larger than 64 MiB")
    try:
        value = read_json(path.read_bytes(), max_depth=MAX_PLAN_DEPTH)
    except ValueRefusedError as error:
        remedy = "if it was a plan, write it anew: dagflow plan FILE -o plan.json"
        raise UsageError(f"{file}: {error}", remedy=remedy) from error
    return value if isinstance(value, dict) else None
