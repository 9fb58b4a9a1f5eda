"""`dagflow schema`."""

from __future__ import annotations

import click

from dagflow.cli.output import print_json


@click.command("schema")
def command() -> None:
    """Print the JSON Schema (draft 7) of workflow files.

    An editor uses it with a first line of

        # yaml-language-server: $schema=workflow.v1.json
    """
    from dagflow.compiler.source.json_schema import workflow_schema

    print_json(workflow_schema())
