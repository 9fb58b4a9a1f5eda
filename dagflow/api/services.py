"""What the routes work with, hung on the application by `create_app`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar, cast

from fastapi import Request

from dagflow.service.runs import Runs
from dagflow.service.workflows import Workflows

T = TypeVar("T")

AT_ONCE = 2
"""Workflows that are compiled at the same time; the others wait for their turn."""


@dataclass(frozen=True, slots=True)
class Services:
    """The use cases behind the routes. `closing` is set when the server is about to stop."""

    runs: Runs
    workflows: Workflows
    closing: asyncio.Event = field(default_factory=asyncio.Event)
    _turns: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(AT_ONCE))

    async def aside(self, work: Callable[[], T]) -> T:
        """Do work that takes the processor for long in a thread: the loop goes on meanwhile."""
        async with self._turns:
            return await asyncio.to_thread(work)


def services(request: Request) -> Services:
    """Return the application's services."""
    return cast("Services", request.app.state.services)
