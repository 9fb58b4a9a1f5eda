"""`dagflow approve`."""

from __future__ import annotations

import sys

import click

from dagflow.cli.exits import OK
from dagflow.cli.output import print_json, say
from dagflow.cli.runs import FORMAT, opened, user
from dagflow.core.errors import UsageError
from dagflow.core.text import clean


@click.command("approve")
@click.argument("approval_id", metavar="[ID]", required=False)
@click.option("--reject", is_flag=True, help="Reject instead.")
@click.option("--comment", default="", help="A word to go with it.")
@click.option("--by", default="", help="Who decides (default: the user of this process).")
@click.option("--yes", is_flag=True, help="Don't ask again.")
@FORMAT
def command(
    approval_id: str | None, *, reject: bool, comment: str, by: str, yes: bool, format_: str
) -> int:
    """Decide an approval; without ID, list what waits for a person.

    What it releases is shown before it is asked for.
    """
    import json

    from dagflow.service.runs import hash_of
    from dagflow.service.views import approval_view

    with opened() as runs:
        if approval_id is None:
            waiting = [approval_view(approval) for approval in runs.approvals()]
            if format_ == "json":
                print_json({"schema_version": 1, "approvals": [*waiting]})
            elif not waiting:
                say("nothing waits for a person")
            for it in waiting if format_ == "text" else ():
                click.echo(f"{it['id']}  {it['step']}  asked {it['asked_at']}")
            return OK
        approval = runs.approval(approval_id)
        say(clean(json.dumps(approval_view(approval), ensure_ascii=False, indent=2)))
        word = "reject" if reject else "approve"
        _confirm(word, yes=yes)
        runs.decide(
            approval_id,
            approve=not reject,
            by=by or user(),
            comment=comment,
            arguments=hash_of(approval),
        )
    say("rejected" if reject else "approved")
    return OK


def _confirm(word: str, *, yes: bool) -> None:
    if yes:
        return
    if not sys.stdin.isatty():
        raise UsageError(f"nobody is here to confirm: {word}", remedy="add --yes")
    click.confirm(f"{word}?", abort=True, err=True)
