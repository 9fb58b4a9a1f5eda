"""The API with engine and worker in one process."""

from __future__ import annotations

import asyncio
import errno
import socket
from types import FrameType

import uvicorn

from dagflow import wiring
from dagflow.api.app import create_app
from dagflow.api.guard import LOOPBACK
from dagflow.api.services import Services
from dagflow.cli.output import say
from dagflow.cli.recovering import tell
from dagflow.core.errors import UsageError
from dagflow.executor.recovery import recover
from dagflow.service.workflows import Workflows
from dagflow.settings import Settings

HEADERS = 16 * 1024
"""Bytes that a request's line and headers may have."""


class Server(uvicorn.Server):
    """A server that tells `closing` first, so that streams end before it waits for them."""

    def __init__(self, config: uvicorn.Config, closing: asyncio.Event) -> None:
        super().__init__(config)
        self._closing = closing
        self._loop = asyncio.get_running_loop()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Take a signal that says stop."""
        self._loop.call_soon_threadsafe(self._closing.set)
        super().handle_exit(sig, frame)


async def serve(settings: Settings, host: str, port: int) -> None:
    """Serve until a signal says stop. Raises `UsageError` when the port is taken."""
    listening = bind(host, port)
    try:
        async with wiring.runtime(settings, everything=True) as running:
            tell(recover(running.engine))
            services = Services(running.runs, Workflows(running.engine))
            server = server_of(services, hosts={host.lower(), *LOOPBACK})
            say(f"dagflow API on http://{host}:{listening.getsockname()[1]}/v1")
            await server.serve(sockets=[listening])
    finally:
        listening.close()


def server_of(services: Services, *, hosts: set[str]) -> Server:
    """Return the server of the API; to be called inside the loop that it will serve in."""
    config = uvicorn.Config(
        create_app(services, hosts=hosts),
        http="h11",
        ws="none",
        h11_max_incomplete_event_size=HEADERS,
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=5,
    )
    return Server(config, services.closing)


def bind(host: str, port: int) -> socket.socket:
    """Return a listening socket."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
        listening.listen(128)
    except OSError as error:
        listening.close()
        if error.errno == errno.EADDRINUSE:
            remedy = f"choose another port (--port {port + 1}), or stop what listens there"
            raise UsageError(f"port {port} of {host} is in use", remedy=remedy) from error
        raise UsageError(f"can't listen on {host}:{port}: {error.strerror}") from error
    return listening
