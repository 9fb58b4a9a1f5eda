"""A site file and its history: text to a `Site`, or every problem, each at its place."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any, Final, TypeVar

from dagflow.compiler.source.problems import Problems
from dagflow.compiler.source.records import below, read_slots, sort_out, table
from dagflow.compiler.source.shapes import read
from dagflow.compiler.source.spot import BAD, Bad, Context, Level, Spot
from dagflow.compiler.source.text import decode
from dagflow.compiler.source.yaml import compose
from dagflow.core.errors import UsageError
from dagflow.core.findings import Finding
from dagflow.core.money import PriceList, picos, price
from dagflow.core.node import Mapping
from dagflow.core.site import Load, Site, Window, WorkerClass
from dagflow.core.source import At, Source, Span
from dagflow.service.site.history import read_history
from dagflow.service.site.shape import Prices, Repeated, SiteFile, Workers

T = TypeVar("T")

SLOTS: Final = table(SiteFile)
REMEDY: Final = "docs/timing.md shows a site file"
SHOWN: Final = 5
"""Problems that are told at once."""


def read_site(path: str) -> Site:
    """Read a site file, and the history that it names.

    Raises `UsageError` with the first problems and their places.
    """
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise UsageError(f"{path} can't be read: {error.strerror}") from error
    source, findings = decode(path, data)
    if findings:
        raise UsageError(_told(findings), remedy=REMEDY)
    file = parse_site(source)
    named = file.history
    history = () if named is None else read_history(str(Path(path).parent / named.value))
    return site_of(file, history)


def parse_site(source: Source) -> SiteFile:
    """Read the text of a site file. Raises `UsageError` as `read_site` does."""
    file = _parsed(source)
    if isinstance(file, tuple):
        raise UsageError(_told(file), remedy=REMEDY)
    return file


def site_of(file: SiteFile, history: tuple[Window, ...] = ()) -> Site:
    """Return what a site file says."""
    return Site(
        workers=tuple(_workers(name.value, each) for name, each in file.workers),
        loads=tuple(_load(name.value, each) for name, each in file.loads),
        history=history,
        prices=PriceList() if file.prices is None else _prices(file.prices),
    )


def _told(findings: tuple[Finding, ...]) -> str:
    """Return the problems, a line each."""
    lines = [
        f"{it.span.file}:{it.span.line}:{it.span.column}: {it.message}"
        + (f" ({it.help})" if it.help else "")
        for it in findings[:SHOWN]
    ]
    if len(findings) > SHOWN:
        lines.append(f"and {len(findings) - SHOWN} more")
    return "\n".join(lines)


def _parsed(source: Source) -> SiteFile | tuple[Finding, ...]:
    composed = compose(source)
    problems = Problems(composed.findings)
    root = composed.root
    spot = Spot(Context(problems, _no_steps), "", "", Span(1, 1, 1, 1, source.name))
    spot = spot.step("", (), "the site file")
    if not isinstance(root, Mapping):
        if not problems.errors:
            spot.bad("a site file is a mapping that begins with `dagflow_site: 1`", spot.span, "")
        return problems.findings()
    first = root.entries[0][0].span if root.entries else root.span
    spot = spot._replace(span=first)
    entries = sort_out(root, SLOTS.keys(), spot, lambda: below(SLOTS.values()))
    level = Level("the site file", SLOTS.keys())
    values = read_slots(SLOTS.values(), entries, spot.inside(level), read)
    found = problems.findings()
    return found if found or values is None else SiteFile(**values, span=root.span)


def _no_steps(_written: Any, _spot: Spot) -> Bad:
    return BAD


def _value(at: At[T] | None, default: T) -> T:
    return default if at is None else at.value


def _seconds(at: At[timedelta] | None, default: float) -> float:
    return default if at is None else at.value.total_seconds()


def _workers(name: str, written: Workers) -> WorkerClass:
    return WorkerClass(
        name=name,
        count=_value(written.count, 1),
        slots=_value(written.slots, 1),
        memory=None if written.memory is None else written.memory.value,
        cpu=None if written.cpu is None else float(written.cpu.value),
        gpus=_value(written.gpus, 0),
        labels=tuple(label.value for label in written.labels),
        queues=tuple(queue.value for queue in written.queues) or ("default",),
    )


def _prices(written: Prices) -> PriceList:
    return PriceList(
        currency=_value(written.currency, ""),
        models={n.value: price(it.prompt.value, it.answer.value) for n, it in written.models},
        tools={name.value: picos(each.value) for name, each in written.tools},
    )


def _load(name: str, written: Repeated) -> Load:
    every, time = written.every.value.total_seconds(), written.time.value.total_seconds()
    return Load(
        name=name,
        every=every,
        time=time,
        deadline=_seconds(written.deadline, every),
        queue=_value(written.queue, "default"),
        longest=_seconds(written.longest, time),
    )
