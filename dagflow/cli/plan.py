"""`dagflow plan`."""

from __future__ import annotations

import json

import click

from dagflow.cli.exits import FINDINGS, OK
from dagflow.cli.output import file_option, say, use_color, write_file
from dagflow.core.findings import Severity
from dagflow.service.bundle import read_bundle
from dagflow.service.check import check


@click.command("plan")
@click.argument("file", metavar="FILE")
@file_option("-o", "--output", what="Write the plan there, not to stdout.")
@click.option("--no-pruning", is_flag=True, help="Keep what pruning would take out.")
def command(file: str, output: str | None, no_pruning: bool) -> int:
    """Write the compiled plan as JSON. `dagflow run plan.json` runs exactly it."""
    from dagflow.compiler.report.text import render
    from dagflow.core.plan_json import to_json

    checked = check(read_bundle(file), prune=not no_pruning)
    if checked.has(Severity.WARNING):
        say(render(checked.report, checked.sources, color=use_color()).rstrip("\n"))
    if checked.plan is None:
        return FINDINGS
    text = json.dumps(to_json(checked.plan), ensure_ascii=False, indent=1, sort_keys=True) + "\n"
    if output is None:
        click.echo(text, nl=False)
    else:
        write_file(output, text)
        say(f"plan {checked.plan.digest}: {output}")
    return OK
