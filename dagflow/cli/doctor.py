"""`dagflow doctor`."""

from __future__ import annotations

import click

from dagflow.cli.exits import OK, USAGE
from dagflow.cli.output import print_json, use_color
from dagflow.core.text import clean
from dagflow.service.doctor import Finding, examine
from dagflow.settings import read

COLORS = {"ok": "green", "warn": "yellow", "fail": "red"}


@click.command("doctor")
@click.option(
    "--format", "format_", default="text", show_default=True,
    type=click.Choice(["text", "json"]), help="How the findings are written.",
)  # fmt: skip
def command(format_: str) -> int:
    """Say what this machine can do, and how to mend what it can't. Exit code 2 when it lacks
    something that workflows need.
    """
    settings = read()
    found = []
    for finding in examine(settings.database, settings.state):
        found.append(finding)
        if format_ == "text":
            _print(finding)
    if format_ == "json":
        print_json({"schema_version": 1, "findings": [finding.view() for finding in found]})
    return USAGE if any(finding.verdict == "fail" for finding in found) else OK


def _print(finding: Finding) -> None:
    word = f"{finding.verdict.upper():<5}"
    shown = click.style(word, fg=COLORS[finding.verdict]) if use_color() else word
    click.echo(f"{shown}{finding.name:<10} {clean(finding.detail)}")
    if finding.fix:
        click.echo(f"{'':<16}fix: {finding.fix}")
