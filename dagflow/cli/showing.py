"""A run in plain text, and what a person must do for it."""

from __future__ import annotations

import shlex
from typing import cast

import click

from dagflow.cli.output import print_json, use_color
from dagflow.core.text import clean
from dagflow.core.values import JsonObject


def print_run(view: JsonObject) -> None:
    """Write a run, its steps and its outputs to stdout."""
    run = cast("JsonObject", view["run"])
    for name in ("id", "workflow", "status", "created_at", "started_at", "finished_at"):
        if run[name] is not None:
            click.echo(f"{name + ':':<13}{run[name]}")
    error = cast("JsonObject | None", run["error"])
    if error:
        click.echo(f"{'error:':<13}{error['class']}: {clean(str(error['message']))}")
    click.echo("steps:")
    for path, step in cast("dict[str, JsonObject]", view["steps"]).items():
        click.echo(f"  {path:<32} {_state(step)}")
        if step["reason"] == "unknown_outcome":
            click.echo(f"  {'':<32} {how_to_settle(str(run['id']), path)}")
    if run["outputs"] is not None:
        click.echo("outputs:")
        print_json(run["outputs"])


def _state(step: JsonObject) -> str:
    from dagflow.cli.progress import COLORS

    status = str(step["status"])
    word = f"{status}({step['reason']})" if step["reason"] else status
    error = cast("JsonObject | None", step["error"])
    why = f"  {error['class']}: {clean(str(error['message']))}" if error else ""
    color = COLORS.get(status, "white")
    return (click.style(word, fg=color) if use_color() else word) + why


def how_to_settle(run_id: str, path: str) -> str:
    """Return the command that settles a step whose outcome is unknown."""
    # a path of an item has brackets, which a shell reads as a pattern
    return f"dagflow runs settle {run_id} {shlex.quote(path)} --done | --not-done"
