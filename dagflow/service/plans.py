"""A plan for a run: compiled from a workflow file, or read from a plan file as it stands."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from dagflow.core.errors import UsageError, ValueRefusedError
from dagflow.core.plan import Plan
from dagflow.core.plan_json import from_json
from dagflow.core.values import read_json
from dagflow.service.bundle import read_bundle
from dagflow.service.check import Checked, check

MAX_PLAN: Final = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Loaded:
    """A plan, or the report that says why there is none."""

    plan: Plan | None
    checked: Checked | None


def load_plan(file: str) -> Loaded:
    """Read a plan file (`*.json` with a `plan_version`), or compile a workflow file."""
    if file.endswith(".json") and _is_plan(file):
        return Loaded(_read(file), None)
    checked = check(read_bundle(file))
    return Loaded(checked.plan, checked)


def _is_plan(file: str) -> bool:
    try:
        with Path(file).open("rb") as opened:
            return b'"plan_version"' in opened.read(MAX_PLAN)
    except OSError:
        return False


def _read(file: str) -> Plan:
    data = Path(file).read_bytes()
    if len(data) > MAX_PLAN:
        raise UsageError(f"{file} is larger than 64 MiB")
    try:
        value = read_json(data)
    except ValueRefusedError as error:
        raise UsageError(f"{file}: {error}", remedy="write it anew: dagflow plan FILE") from error
    if not isinstance(value, dict):
        raise UsageError(
            f"{file} is not a plan", remedy="write one: dagflow plan FILE -o plan.json"
        )
    return from_json(value)
