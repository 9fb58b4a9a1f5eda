"""`dagflow graph`."""

from __future__ import annotations

import click

from dagflow.cli.exits import FINDINGS, OK
from dagflow.cli.output import file_option, say, use_color, write_file
from dagflow.core.findings import Severity


@click.command("graph")
@click.argument("file", metavar="FILE")
@click.option(
    "--format", "format_", default="mermaid", show_default=True,
    type=click.Choice(["svg", "mermaid", "dot", "json"]), help="How the graph is drawn.",
)  # fmt: skip
@click.option("--before-pruning", is_flag=True, help="Draw the graph as it was written.")
@click.option("--states", metavar="STEP", help="Draw the state machine of one step instead.")
@file_option("-o", "--output", what="Write the drawing there, not to stdout.")
def command(
    file: str, format_: str, before_pruning: bool, states: str | None, output: str | None
) -> int:
    """Draw a workflow's graph, or the states that one step can be in."""
    from dagflow.compiler.report.text import render
    from dagflow.service.bundle import read_bundle
    from dagflow.service.check import check
    from dagflow.service.drawings import draw_graph, draw_states

    bundle = read_bundle(file)
    checked = check(bundle, prune=not before_pruning)
    if checked.plan is None:
        say(render(checked.report, checked.sources, color=use_color()).rstrip("\n"))
        return FINDINGS if checked.has(Severity.ERROR) else OK
    if states is not None:
        text = draw_states(checked.plan, states, format_)
    else:
        removed = check(bundle).report.removed if before_pruning else ()
        text = draw_graph(checked.plan, format_, removed=removed)
    if output is None:
        click.echo(text.rstrip("\n"))
    else:
        write_file(output, text)
        say(f"drawing: {output}")
    return OK
