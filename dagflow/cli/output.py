"""Where words go: data to stdout, everything else to stderr, colour only to a terminal."""

from __future__ import annotations

import errno
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final, TypeVar

import click

from dagflow.core.errors import UsageError
from dagflow.core.values import JsonValue

Command = TypeVar("Command", bound=Callable[..., Any])

REMEDIES: Final[Mapping[int, str]] = {
    errno.ENOENT: "name a file in a folder that exists",
    errno.ENOTDIR: "name a file in a folder that exists",
    errno.EISDIR: "name a file in that folder",
}


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


def file_option(*names: str, what: str) -> Callable[[Command], Command]:
    """Give a command the option of a file to write, which is refused before it does anything."""
    return click.option(*names, metavar="FILE", callback=_writable, help=what)


def _writable(ctx: click.Context, _param: click.Parameter, path: str | None) -> str | None:
    if path is not None and not ctx.resilient_parsing:
        require_writable(path)
    return path


def require_writable(path: str) -> None:
    """Raise `UsageError` where `write_file` couldn't write. Nothing is left behind."""
    with _explaining(path):
        target = Path(path)
        if target.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if not _takes_a_stream(target):
            draft = _draft(target)
            draft.touch()
            draft.unlink()


def write_file(path: str, text: str) -> None:
    """Write a whole file, or leave what was there."""
    with _explaining(path):
        target = Path(path)
        if _takes_a_stream(target):
            target.write_text(text, encoding="utf-8")
            return
        draft = _draft(target)
        try:
            draft.write_text(text, encoding="utf-8")
            draft.replace(target.resolve())
        except OSError:
            with suppress(OSError):  # on a file system that is read-only, even where there is none
                draft.unlink()
            raise


def _takes_a_stream(target: Path) -> bool:
    """Tell whether a path is a pipe or a device, such as /dev/null, which is not replaced."""
    return target.exists() and not target.is_file()


def _draft(target: Path) -> Path:
    whole = target.resolve()  # a link stays, and leads to the new file
    return whole.with_name(f".{whole.name}.{os.getpid()}.tmp")


@contextmanager
def _explaining(path: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno == errno.ENOSPC:  # is not the caller's mistake
            raise OSError(error.errno, error.strerror, path) from error
        remedy = REMEDIES.get(error.errno or 0, "name a file in a folder that you may write to")
        raise UsageError(f"{path} can't be written: {error.strerror}", remedy=remedy) from error
