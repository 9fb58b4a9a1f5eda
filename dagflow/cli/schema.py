"""`dagflow schema`."""

from __future__ import annotations

import click

from dagflow.cli.output import print_json


@click.command("schema")
@click.option("--tests", is_flag=True, help="That of test files, NAME.test.yaml.")
def command(tests: bool) -> None:
    """Print the JSON Schema (draft 7) of workflow files.

    An editor uses it with a first line of

        # yaml-language-server: $schema=workflow.v1.json
    """
    if tests:
        from dagflow.service.testing.json_schema import cases_schema

        print_json(cases_schema())
        return
    from dagflow.compiler.source.json_schema import workflow_schema

    print_json(workflow_schema())
