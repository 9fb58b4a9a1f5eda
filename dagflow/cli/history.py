"""`dagflow history`."""

from __future__ import annotations

import click

from dagflow.cli.exits import OK
from dagflow.cli.output import file_option, say, write_file
from dagflow.cli.sites import recorded_here


@click.command("history")
@file_option("-o", "--output", what="Write the history there, not to stdout.")
@click.option(
    "--window", default=60.0, show_default=True, type=click.FloatRange(1, 86_400),
    metavar="SECONDS", help="How long a window of time is.",
)  # fmt: skip
def command(output: str | None, window: float) -> int:
    """Write how long the steps of recorded runs took and what they used, a window of time a line.

    A site file names it (`history: FILE`), so that `dagflow check --site` can compare deadlines
    with it elsewhere, where there is no database.
    """
    from dagflow.service.site.history import write_history

    found = recorded_here(window)
    text = write_history(found)
    if output is None:
        click.echo(text, nl=False)
    else:
        write_file(output, text)
        say(f"history: {len(found)} windows in {output}")
    return OK
