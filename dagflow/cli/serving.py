"""The API with engine and worker in one process."""

from __future__ import annotations

import errno
import socket

import uvicorn

from dagflow import wiring
from dagflow.api.app import create_app
from dagflow.api.services import Services
from dagflow.cli.output import say
from dagflow.core.errors import UsageError
from dagflow.executor.recovery import recover
from dagflow.service.workflows import Workflows
from dagflow.settings import Settings


async def serve(settings: Settings, host: str, port: int) -> None:
    """Serve until a signal says stop. Raises `UsageError` when the port is taken."""
    listening = bind(host, port)
    try:
        async with wiring.runtime(settings) as running:
            for run_id in recover(running.engine).runs:
                say(f"recovering {run_id}")
            app = create_app(Services(running.runs, Workflows(running.engine)))
            config = uvicorn.Config(
                app, log_level="warning", access_log=False, timeout_graceful_shutdown=5
            )
            say(f"dagflow API on http://{host}:{listening.getsockname()[1]}/v1")
            await uvicorn.Server(config).serve(sockets=[listening])
    finally:
        listening.close()


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
