"""What this machine can do: each thing tried for real, with the mend where it fails."""

from __future__ import annotations

import asyncio
import os
import shutil
import sqlite3
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, TypeAlias

from dagflow.core.errors import DagflowError
from dagflow.core.values import JsonObject

Verdict: TypeAlias = Literal["ok", "warn", "fail"]
MIN_FREE: Final = 512 * 1024 * 1024
MIN_SQLITE: Final = (3, 38, 0)


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was tried. A `fail` stops some workflows from running; `fix` says how not."""

    name: str
    verdict: Verdict
    detail: str
    fix: str = ""

    def view(self) -> JsonObject:
        """Return the finding as JSON."""
        return {
            "name": self.name,
            "verdict": self.verdict,
            "detail": self.detail,
            "fix": self.fix or None,
        }


def examine(database: str, folder: Path) -> Iterator[Finding]:
    """Try everything and yield what came of it. `folder` is where the state is kept."""
    checks: tuple[Callable[[], Finding], ...] = (
        _python,
        _sqlite,
        lambda: _database(database),
        lambda: _disk(folder),
        _seccomp,
        _sandbox,
        _model,
    )
    for check in checks:
        yield check()


def _python() -> Finding:
    version = ".".join(map(str, sys.version_info[:3]))
    return Finding("python", "ok", f"{version} at {sys.executable}")


def _sqlite() -> Finding:
    version = sqlite3.sqlite_version
    if sqlite3.sqlite_version_info < MIN_SQLITE:
        fix = "use a Python that is linked to SQLite 3.38 or newer"
        return Finding("sqlite", "fail", version, fix)
    return Finding("sqlite", "ok", version)


def _database(url: str) -> Finding:
    from dagflow.store.schema import check

    try:
        found = check(url)
    except DagflowError as error:
        return Finding("database", "fail", error.message, error.remedy)
    if found.state == "newer":
        detail = f"{url} was written by a newer dagflow (schema {found.revision})"
        return Finding("database", "fail", detail, "upgrade dagflow, or set DAGFLOW_DATABASE")
    words = {"current": "up to date", "empty": "will be made", "old": "will be upgraded"}
    return Finding("database", "ok", f"{url}: {words[found.state]}")


def _disk(folder: Path) -> Finding:
    place = next(it for it in (folder, *folder.absolute().parents) if it.exists())
    if not os.access(place, os.W_OK | os.X_OK):
        fix = "make it writable, or set DAGFLOW_DATABASE elsewhere"
        return Finding("disk", "fail", f"{place} can't be written", fix)
    free = shutil.disk_usage(place).free
    detail = f"{free / 2**30:.1f} GiB free at {place}"
    if free < MIN_FREE:
        return Finding("disk", "warn", detail, "free some space, or set DAGFLOW_DATABASE elsewhere")
    return Finding("disk", "ok", detail)


def _seccomp() -> Finding:
    from dagflow.executor.sandbox.seccomp import program

    try:
        program()
    except OSError as error:
        fix = "install libseccomp (Debian, Ubuntu: apt-get install libseccomp2)"
        return Finding("seccomp", "fail", str(error), fix)
    return Finding("seccomp", "ok", "the filter was made")


def _sandbox() -> Finding:
    from dagflow.executor.sandbox.preflight import REMEDY, inspect

    found = asyncio.run(inspect())
    if found.cage is None:
        return Finding("sandbox", "fail", found.reason, REMEDY)
    return Finding("sandbox", "ok", f"a probe ran in its walls (control groups {found.version})")


def _model() -> Finding:
    from dagflow.llm.installed import DEFAULT_MODEL, check_libraries, model_file

    try:
        check_libraries()
        file = model_file(DEFAULT_MODEL)
    except DagflowError as error:
        return Finding("model", "warn", error.message, error.remedy)
    return Finding("model", "ok", f"{DEFAULT_MODEL} at {file}")
