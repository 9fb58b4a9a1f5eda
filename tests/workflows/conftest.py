"""A desk with the example services, each on a port of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from dagflow.core.errors import UsageError
from dagflow.executor.sandbox.preflight import inspect
from dagflow.llm.installed import DEFAULT_MODEL, check_libraries, model_file
from tests.workflows.desk import Desk, lacking, service, serving


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path / "workflows")


@pytest.fixture
def alerts(desk: Desk) -> Iterator[list[dict[str, Any]]]:
    """The alerts that the alert service has taken."""
    raised: list[dict[str, Any]] = []
    handler = type("Alerts", (service("alerts"),), {"alerts": raised, "by_key": {}})
    with serving(handler) as address:
        desk.replace("alerts.openapi.yaml", "127.0.0.1:18765", address)
        yield raised


@pytest.fixture
def deployer(desk: Desk) -> Iterator[Any]:
    """The deployment service: `versions`, `errors` and `log`; `refused` are stages that fail."""
    real: Any = service("deployer")

    class Deployer(real):  # type: ignore[misc]
        versions = {"canary": "1.0.0", "fleet": "1.0.0"}  # noqa: RUF012
        errors = {"canary": 0, "fleet": 0}  # noqa: RUF012
        log: list[dict[str, Any]] = []  # noqa: RUF012
        refused: set[str] = set()  # noqa: RUF012

        def do_PUT(self) -> None:  # noqa: N802  # the name http.server calls
            if self._stage("") in self.refused:
                self._body()
                self._answer(422, {"error": "no room"})
                return
            super().do_PUT()

    with serving(Deployer) as address:
        desk.replace("deployer.openapi.yaml", "127.0.0.1:18766", address)
        yield Deployer


@cache
def _no_sandbox() -> str:
    verdict = asyncio.run(inspect())
    return "" if verdict.cage is not None else verdict.reason or "no sandbox"


@pytest.fixture
def sandbox() -> None:
    """A host that can run code inside walls."""
    if reason := _no_sandbox():
        lacking(f"no sandbox on this host: {reason}")


@pytest.fixture
def model() -> None:
    """The model that the llm workflows name."""
    try:
        check_libraries()
        model_file(DEFAULT_MODEL)
    except UsageError as error:
        lacking(f"{error}; {error.remedy}")
