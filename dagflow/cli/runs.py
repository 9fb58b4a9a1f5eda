"""`dagflow runs …`."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, cast

import click

from dagflow.cli.ending import exit_code, show_end, write_page
from dagflow.cli.exits import BY_RUN, OK, code_of
from dagflow.cli.output import file_option, print_json, say
from dagflow.cli.progress import Progress, progress
from dagflow.cli.showing import print_run
from dagflow.core.run import RunState
from dagflow.core.values import JsonObject
from dagflow.settings import read

if TYPE_CHECKING:
    from dagflow.service.runs import Runs

FORMAT = click.option(
    "--format", "format_", default="text", show_default=True,
    type=click.Choice(["text", "json"]), help="How the answer is written to stdout.",
)  # fmt: skip


@click.group("runs")
def command() -> None:
    """List, show, watch, cancel and recover runs. State is in DAGFLOW_DATABASE."""


@contextmanager
def opened() -> Iterator[Runs]:
    """Give the runs of the database, which is made where there is none."""
    from dagflow import wiring

    store = wiring.open_store(read())
    try:
        yield wiring.runs_of(store)
    finally:
        store.close()


@command.command("ls")
@click.option(
    "--status", "states", multiple=True, help="Only runs in this state.",
    type=click.Choice([state.value for state in RunState]),
)  # fmt: skip
@click.option("--workflow", default="", help="Only runs of this workflow.")
@click.option("--limit", default=50, show_default=True, type=click.IntRange(1, 200))
@click.option("--cursor", default="", help="Where the last page ended.")
@FORMAT
def ls(states: tuple[str, ...], workflow: str, limit: int, cursor: str, format_: str) -> int:
    """List runs, newest first."""
    from dagflow.service.views import run_row_view
    from dagflow.store.rows import RunQuery

    query = RunQuery(states=states, workflow=workflow, limit=limit, cursor=cursor)
    with opened() as runs:
        page = runs.list(query)
    rows = [run_row_view(row) for row in page.runs]
    if format_ == "json":
        print_json({"schema_version": 1, "runs": [*rows], "next_cursor": page.next or None})
        return OK
    for row in rows:
        click.echo(f"{row['id']}  {row['status']:<10} {row['created_at']}  {row['workflow']}")
    if not rows:
        say("there are no such runs" if states or workflow or cursor else "there are no runs yet")
    if page.next:
        say(f"more: --cursor {page.next}")
    return OK


@command.command("show")
@click.argument("run_id", metavar="ID")
@file_option("--html", "html_file", what="Write a page about the run as well.")
@FORMAT
def show(run_id: str, html_file: str | None, format_: str) -> int:
    """Show a run and its steps."""
    with opened() as runs:
        view = runs.show(run_id)
        plan = runs.plan_of(run_id) if html_file else None
    if format_ == "json":
        print_json(view)
    else:
        print_run(view)
    if html_file and plan:
        write_page(html_file, view, plan)
    return OK


@command.command("watch")
@click.argument("run_id", metavar="ID")
@FORMAT
def watch(run_id: str, format_: str) -> int:
    """Follow a run that another process is working on, until it is over."""
    with opened() as runs:
        asyncio.run(_poll(runs, run_id, progress(quiet=False)))
        view = runs.show(run_id)
    show_end(view, format_)
    return exit_code(view)


async def _poll(runs: Runs, run_id: str, shown: Progress) -> None:
    from dagflow.core.events import decode
    from dagflow.executor.live.base import Recorded

    seq = 0
    with shown:
        while True:
            events = runs.events(run_id, after=seq, limit=1000)
            for event in events:
                seq = event.seq
                shown.show(Recorded(run_id=run_id, seq=seq, change=decode(event.body)))
            runs.engine.refresh()
            if not events and runs.get(run_id).state.is_final:
                return
            await asyncio.sleep(0.2)


@command.command("cancel")
@click.argument("run_id", metavar="ID")
@click.option("--reason", default="", help="Why, for the record.")
def cancel(run_id: str, reason: str) -> int:
    """Cancel a run: nothing starts any more but compensation and `finally`."""
    with opened() as runs:
        runs.cancel(run_id, by=user(), reason=reason)
    return OK


@command.command("pause")
@click.argument("run_id", metavar="ID")
def pause(run_id: str) -> int:
    """Start no more steps of a run until `dagflow runs resume`."""
    with opened() as runs:
        runs.pause(run_id)
    return OK


@command.command("resume")
@click.argument("run_id", metavar="ID")
def resume(run_id: str) -> int:
    """End a pause."""
    with opened() as runs:
        runs.resume(run_id)
    return OK


@command.command("signal")
@click.argument("run_id", metavar="ID")
@click.argument("name", metavar="NAME")
@click.argument("payload", metavar="[JSON]", default="null")
def signal(run_id: str, name: str, payload: str) -> int:
    """Send a signal to a run. The payload is JSON, or the file @NAME."""
    from dagflow.service.inputs import read_value

    value = read_value(payload, "payload")
    with opened() as runs:
        runs.signal(run_id, name, value)
    return OK


@command.command("settle")
@click.argument("run_id", metavar="ID")
@click.argument("step", metavar="STEP")
@click.option("--done", is_flag=True, help="It did what it was to do: the step succeeds.")
@click.option("--not-done", is_flag=True, help="It did nothing: the step fails, class conflict.")
@click.option("--output", metavar="JSON", help="What the step gave, or @FILE (default: null).")
@click.option("--by", default="", help="Who says so (default: the user of this process).")
@FORMAT
def settle(
    run_id: str, step: str, *, done: bool, not_done: bool, output: str | None, by: str, format_: str
) -> int:
    """Say what came of a step whose outcome is unknown.

    A step with `effects: once` waits for that when its worker is gone, or when no answer came:
    it may have done its work, so it is not made again.
    """
    from dagflow.service.inputs import read_value

    if done == not_done:
        raise click.UsageError("say what came of it: either --done or --not-done")
    value = None if output is None else read_value(output, "output")
    with opened() as runs:
        runs.settle(run_id, step, succeeded=done, output=value, by=by or user())
        view = runs.show(run_id)
    if format_ == "json":
        print_json(view)
    say(f"settled as {'done' if done else 'not done'}")
    if str(cast("JsonObject", view["run"])["status"]) not in BY_RUN:
        say("if no process works on the run, `dagflow runs recover` goes on with it")
    return OK


@command.command("recover")
@click.argument("run_id", metavar="[ID]", required=False)
@click.option("--unsafe-no-sandbox", is_flag=True, help="Run code without walls around it.")
@FORMAT
def recover(run_id: str | None, unsafe_no_sandbox: bool, format_: str) -> int:
    """Go on with runs whose process died, and wait until they are over.

    Finished steps are kept as they are; only what was running is done again, but no step with
    `effects: once`: that waits for `dagflow runs settle`. Without ID, runs that wait for a person
    or a signal are left.
    """
    from dagflow.cli.recovering import recover_runs

    views, broken = asyncio.run(recover_runs(read(unsafe=unsafe_no_sandbox), run_id, progress))
    if not views and not broken:
        say("nothing to recover")
    for view in views:
        show_end(view, format_)
    return max([*map(exit_code, views), *map(code_of, broken)], default=OK)


def user() -> str:
    """Return who is asking, for the record."""
    import getpass

    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "unknown"
