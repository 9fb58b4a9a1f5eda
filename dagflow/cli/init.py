"""`dagflow init`."""

from __future__ import annotations

import json
from importlib import resources
from pathlib import Path
from typing import Final

import click

from dagflow.cli.output import say, write_file
from dagflow.core.errors import ConflictError

FILES: Final = ("workflow.yaml", "notifier.openapi.yaml")


@click.command("init")
@click.argument("folder", default=".", metavar="[DIR]")
def command(folder: str) -> None:
    """Write a commented starter workflow, its tool document and the editor's schema."""
    from dagflow.compiler.source.json_schema import workflow_schema

    target = Path(folder)
    taken = [name for name in FILES if (target / name).exists()]
    if taken:
        message = f"{target / taken[0]} exists already"
        raise ConflictError(message, remedy="name another folder: dagflow init DIR")
    target.mkdir(parents=True, exist_ok=True)
    starter = resources.files("dagflow.cli").joinpath("starter")
    for name in FILES:
        write_file(str(target / name), starter.joinpath(name).read_text("utf-8"))
    schema = json.dumps(workflow_schema(), indent=2, ensure_ascii=False) + "\n"
    write_file(str(target / "workflow.v1.json"), schema)
    say(f"wrote {', '.join(FILES)} and workflow.v1.json to {target}")
    say(f"next: dagflow check {target / 'workflow.yaml'}")
