"""What the routes work with, hung on the application by `create_app`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from fastapi import Request

from dagflow.service.runs import Runs
from dagflow.service.workflows import Workflows


@dataclass(frozen=True, slots=True)
class Services:
    """The use cases behind the routes."""

    runs: Runs
    workflows: Workflows


def services(request: Request) -> Services:
    """Return the application's services."""
    return cast("Services", request.app.state.services)
