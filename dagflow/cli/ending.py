"""How a run that is over is shown, and what the exit code says of it."""

from __future__ import annotations

from typing import cast

from dagflow.cli.exits import BY_RUN, OK
from dagflow.cli.output import print_json, print_json_line, say, write_file
from dagflow.core.plan import Plan
from dagflow.core.text import clean
from dagflow.core.values import JsonObject


def show_end(view: JsonObject, format_: str) -> None:
    """Write how a run ended: its outputs as JSON, or all of it; the status goes to stderr."""
    run = cast("JsonObject", view["run"])
    if format_ == "json":
        print_json(view)
    elif format_ == "jsonl":
        print_json_line(view)
    elif run["status"] == "succeeded":
        print_json(run["outputs"])
    error = cast("JsonObject | None", run["error"])
    said = f"run {run['id']} {run['status']}"
    say(f"{said}: {error['class']}: {clean(str(error['message']))}" if error else said)


def exit_code(view: JsonObject) -> int:
    """Return the exit code of a run; one that is not over has not failed."""
    return BY_RUN.get(str(cast("JsonObject", view["run"])["status"]), OK)


def write_page(file: str, view: JsonObject, plan: Plan) -> None:
    """Write the page of a run."""
    from dagflow.service.drawings import draw_graph
    from dagflow.service.run_page import run_page

    write_file(file, run_page(view, graph=draw_graph(plan, "svg")))
    say(f"page: {file}")
