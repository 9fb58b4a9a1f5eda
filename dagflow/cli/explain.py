"""`dagflow explain`."""

from __future__ import annotations

import click

from dagflow.cli.output import use_color
from dagflow.core.errors import NotFoundError
from dagflow.core.words import closest


@click.command("explain")
@click.argument("code", metavar="CODE")
def command(code: str) -> None:
    """Say what a finding means. CODE is DF101 or unknown-name; `all` lists every rule."""
    from dagflow.compiler.rules import ALL

    if code == "all":
        for rule in ALL:
            summary = rule.doc.strip().splitlines()[0]
            click.echo(f"{rule.code}  {rule.name:<22} {rule.severity.value:<8} {summary}")
        return
    found = next((rule for rule in ALL if code.upper() == rule.code or code == rule.name), None)
    if found is None:
        near = closest(code, [name for rule in ALL for name in (rule.code, rule.name)])
        remedy = f"did you mean {near}?" if near else "`dagflow explain all` lists them"
        raise NotFoundError(f"no rule is named {code!r}", remedy=remedy)
    head = f"{found.code} {found.name} ({found.severity.value})"
    click.echo(click.style(head, bold=True) if use_color() else head)
    click.echo()
    import inspect

    click.echo(inspect.cleandoc(found.doc))
