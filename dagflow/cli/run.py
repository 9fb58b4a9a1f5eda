"""`dagflow run`."""

from __future__ import annotations

import asyncio
from typing import Any

import click

from dagflow.cli.ending import exit_code, show_end, write_page
from dagflow.cli.exits import FINDINGS
from dagflow.cli.output import file_option, say, use_color
from dagflow.cli.progress import JsonLines, Progress, progress
from dagflow.core.findings import Severity
from dagflow.core.plan import Plan
from dagflow.core.values import JsonObject
from dagflow.service.inputs import gather
from dagflow.service.plans import Loaded, load_plan


@click.command("run")
@click.argument("file", metavar="FILE")
@click.option("--input", "-i", "words", multiple=True, metavar="NAME=VALUE", help="One input.")
@click.option("--inputs", "inputs_file", metavar="FILE", help="All inputs, as a JSON object.")
@click.option(
    "--format", "format_", default="text", show_default=True,
    type=click.Choice(["text", "json", "jsonl"]), help="How the run is written to stdout.",
)  # fmt: skip
@click.option("--quiet", "-q", is_flag=True, help="No progress on stderr.")
@file_option("--html", "html_file", what="Write a page about the run as well.")
@click.option("--unsafe-no-sandbox", is_flag=True, help="Run code without walls around it.")
def command(file: str, **options: Any) -> int:
    """Run a workflow file, or a plan as `dagflow plan` wrote it, and wait for its end.

    The run is kept in .dagflow/dagflow.db (or DAGFLOW_DATABASE) at every step: after a crash,
    `dagflow runs recover` goes on where it was.
    """
    from dagflow.settings import read

    loaded = load_plan(file)
    _tell(loaded)
    if loaded.plan is None:
        return FINDINGS
    inputs = gather(loaded.plan, options["words"], options["inputs_file"])
    settings = read(unsafe=options["unsafe_no_sandbox"])
    view = _run(loaded.plan, inputs, settings, _progress(options))
    show_end(view, options["format_"])
    if options["html_file"]:
        write_page(options["html_file"], view, loaded.plan)
    return exit_code(view)


def _progress(options: dict[str, Any]) -> Progress:
    if options["format_"] == "jsonl":
        return JsonLines()
    return progress(quiet=options["quiet"])


def _run(plan: Plan, inputs: JsonObject, settings: Any, shown: Progress) -> JsonObject:
    from dagflow.cli.following import run_to_end

    return asyncio.run(run_to_end(plan, inputs, settings, shown))


def _tell(loaded: Loaded) -> None:
    """Print the report on stderr when it has something to say."""
    checked = loaded.checked
    if checked is not None and checked.has(Severity.WARNING):
        from dagflow.compiler.report.text import render

        say(render(checked.report, checked.sources, color=use_color()).rstrip("\n"))
