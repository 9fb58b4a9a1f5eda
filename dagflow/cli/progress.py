"""A run as it goes, on stderr: a live table on a terminal, plain lines elsewhere."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any, Protocol, Self

import click

from dagflow.cli.output import say, use_color
from dagflow.core.run import RunChanged, StepChanged
from dagflow.core.text import clean
from dagflow.executor.live.base import Emitted, LiveEvent, Recorded
from dagflow.service.views import split_label

COLORS = {
    "succeeded": "green", "failed": "red", "timed_out": "red", "running": "cyan",
    "waiting": "yellow", "cancelled": "magenta", "skipped": "bright_black", "ready": "blue",
    "pending": "bright_black",
}  # fmt: skip


class Progress(Protocol):
    """Shows the live events of one run."""

    def show(self, event: LiveEvent) -> None:
        """Take one event."""
        ...

    def __enter__(self) -> Self:
        """Begin to show."""
        ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop showing."""
        ...


def progress(*, quiet: bool) -> Progress:
    """Return what fits the place that stderr goes to."""
    if quiet:
        return Silent()
    return Table() if sys.stderr.isatty() and use_color(sys.stderr) else Lines()


class Silent(AbstractContextManager["Silent"]):
    """Shows nothing."""

    def show(self, event: LiveEvent) -> None:
        """Pass it over."""

    def __exit__(self, *_: object) -> None:
        """Do nothing."""


class Lines(AbstractContextManager["Lines"]):
    """One line for each move of a step."""

    def __init__(self, write: Callable[[str], None] = say) -> None:
        self._write = write

    def show(self, event: LiveEvent) -> None:
        """Write the move that an event tells of, if it does."""
        if not isinstance(event, Recorded):
            return
        change = event.change
        if isinstance(change, StepChanged) and change.before != change.after:
            if change.after not in {"pending", "ready"}:
                self._write(f"{change.path}: {change.after}{_why(change)}")
        elif isinstance(change, RunChanged) and change.after is not change.before:
            self._write(f"run: {change.after.value}")

    def __exit__(self, *_: object) -> None:
        """Do nothing."""


def _why(change: StepChanged) -> str:
    error: Any = change.set.get("error")
    return f" ({error.error_class}: {clean(error.message)})" if error else ""


class Table:
    """A table of the steps that have begun, redrawn in place, with tokens as they come."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.live import Live

        self._states: dict[str, tuple[str, float, float | None]] = {}
        self._said: dict[str, str] = {}
        self._run = "queued"
        # made last: it draws once while it is made
        self._live = Live(
            console=Console(stderr=True), refresh_per_second=8, get_renderable=self._draw
        )

    def __enter__(self) -> Self:
        self._live.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._live.__exit__(kind, error, trace)

    def show(self, event: LiveEvent) -> None:
        """Take one event; the table is redrawn by itself."""
        if isinstance(event, Emitted):
            text = event.data.get("text")
            if event.kind == "token" and isinstance(text, str):
                self._said[event.path] = (self._said.get(event.path, "") + text)[-200:]
        elif isinstance(event, Recorded):
            self._recorded(event)

    def _recorded(self, event: Recorded) -> None:
        change, now = event.change, time.monotonic()
        if isinstance(change, RunChanged):
            self._run = change.after.value
        elif isinstance(change, StepChanged) and change.before != change.after:
            _, began, _ = self._states.get(change.path, ("", now, None))
            state, _ = split_label(change.after)
            if change.after == "running":
                began = now
            ended = now if state in {"succeeded", "failed", "timed_out", "cancelled"} else None
            self._states[change.path] = (change.after, began, ended)

    def _draw(self) -> Any:
        from rich.table import Table as Grid
        from rich.text import Text

        grid = Grid.grid(padding=(0, 2))
        shown = {p: s for p, s in self._states.items() if s[0] not in {"pending", "ready"}}
        for path, (label, began, ended) in list(shown.items())[-30:]:
            color = COLORS.get(split_label(label)[0], "white")
            seconds = (ended or time.monotonic()) - began
            skipped = label.startswith("skipped")
            said = clean(self._said.get(path, "")).replace("\n", " ")[-60:]
            grid.add_row(
                Text(path),
                Text(label, style=color.replace("bright_black", "bright_black")),
                Text("" if skipped else f"{seconds:.1f} s"),
                Text(said, style="dim"),
            )
        grid.add_row(Text("run", style="bold"), Text(self._run, style="bold"), "", "")
        return grid


class JsonLines(AbstractContextManager["JsonLines"]):
    """Every event as one line of JSON on stdout."""

    def show(self, event: LiveEvent) -> None:
        """Write the event."""
        from dagflow.core.events import encode

        if isinstance(event, Recorded):
            line = {"seq": event.seq, "event": encode(event.change)}
        elif isinstance(event, Emitted):
            line = {"live": event.kind, "step": event.path, **event.data}
        else:
            return
        click.echo(json.dumps(line, ensure_ascii=False, separators=(",", ":")))

    def __exit__(self, *_: object) -> None:
        """Do nothing."""
