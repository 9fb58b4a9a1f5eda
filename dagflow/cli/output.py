"""Where words go: data to stdout, everything else to stderr, colour only to a terminal."""

from __future__ import annotations

import json
import os
import sys
from contextlib import suppress
from pathlib import Path

import click

from dagflow.core.errors import UsageError
from dagflow.core.values import JsonValue


def print_json(value: JsonValue) -> None:
    """Write one JSON document to stdout."""
    click.echo(json.dumps(value, ensure_ascii=False, indent=2))


def print_json_line(value: JsonValue) -> None:
    """Write one JSON value on a line of its own to stdout."""
    click.echo(json.dumps(value, ensure_ascii=False, separators=(",", ":")))


def say(text: str = "") -> None:
    """Write a line to stderr."""
    click.echo(text, err=True)


def use_color(stream: object = None) -> bool:
    """Tell whether to colour: a terminal, unless NO_COLOR; or FORCE_COLOR."""
    asked = color_asked()
    target = stream or sys.stdout
    return bool(getattr(target, "isatty", lambda: False)()) if asked is None else asked


def color_asked() -> bool | None:
    """Return what the environment says of colours, or None where the stream decides."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return False if os.environ.get("TERM") == "dumb" else None


def write_file(path: str, text: str) -> None:
    """Write a whole file, or leave what was there."""
    target = Path(path)
    draft = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        draft.write_text(text, encoding="utf-8")
        draft.replace(target)
    except OSError as error:
        with suppress(OSError):  # on a file system that is read-only, even where there is none
            draft.unlink()
        if error.errno == 28:  # noqa: PLR2004  # ENOSPC is not the caller's mistake
            raise OSError(error.errno, error.strerror, path) from error
        message = f"{path} can't be written: {error.strerror}"
        raise UsageError(message, remedy="name a file in a folder that exists") from error
