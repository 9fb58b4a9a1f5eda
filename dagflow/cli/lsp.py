"""`dagflow lsp`."""

from __future__ import annotations

import click

from dagflow.cli.exits import OK


@click.command("lsp")
def command() -> int:
    """Speak the Language Server Protocol on stdin and stdout, for editors.

    Diagnostics as you type, types on hover, completion, definitions, renaming, quick fixes: the
    same checks as `dagflow check`.
    """
    from dagflow.lsp.server import made_server

    made_server().start_io()
    return OK
