"""`dagflow init`."""

from __future__ import annotations

import json
from importlib import resources
from pathlib import Path
from typing import Final

import click

from dagflow.cli.output import say, write_file
from dagflow.core.errors import ConflictError

FILES: Final = ("workflow.yaml", "workflow.test.yaml", "notifier.openapi.yaml")


@click.command("init")
@click.argument("folder", default=".", metavar="[DIR]")
def command(folder: str) -> None:
    """Write a commented starter workflow, its tests, its tool document and the editor's schemas."""
    from dagflow.compiler.source.json_schema import workflow_schema
    from dagflow.service.testing.json_schema import cases_schema

    target = Path(folder)
    taken = [name for name in FILES if (target / name).exists()]
    if taken:
        message = f"{target / taken[0]} exists already"
        raise ConflictError(message, remedy="name another folder: dagflow init DIR")
    target.mkdir(parents=True, exist_ok=True)
    starter = resources.files("dagflow.cli").joinpath("starter")
    for name in FILES:
        write_file(str(target / name), starter.joinpath(name).read_text("utf-8"))
    for name, schema in (("workflow.v1.json", workflow_schema()), ("test.v1.json", cases_schema())):
        text = json.dumps(schema, indent=2, ensure_ascii=False) + "\n"
        write_file(str(target / name), text)
    say(f"wrote {', '.join(FILES)}, workflow.v1.json and test.v1.json to {target}")
    say(f"next: dagflow check {target / 'workflow.yaml'}")
