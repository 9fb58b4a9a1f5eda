"""`dagflow dev`."""

from __future__ import annotations

import asyncio

import click

from dagflow.cli.exits import OK
from dagflow.core.errors import UsageError
from dagflow.settings import read


@click.command("dev")
@click.option("--host", default="127.0.0.1", show_default=True)
@click.option("--port", default=8080, show_default=True, type=click.IntRange(0, 65535))
@click.option("--unsafe-no-sandbox", is_flag=True, help="Run code without walls around it.")
def command(host: str, port: int, unsafe_no_sandbox: bool) -> int:
    """Serve the REST API, with engine and worker in this process and SQLite behind it.

    Runs whose process died are taken up again. For one person on one machine: there is no
    authentication, so it listens on loopback only.
    """
    from dagflow.api.guard import LOOPBACK

    if host not in LOOPBACK:
        raise UsageError(
            f"dev has no authentication, so it does not listen on {host}",
            remedy="leave --host away, and put an authenticating proxy in front",
        )
    from dagflow.cli.serving import serve

    asyncio.run(serve(read(unsafe=unsafe_no_sandbox), host, port))
    return OK
