"""A site file as written."""

from __future__ import annotations

from datetime import timedelta

from dagflow.core.records import dataclass
from dagflow.core.shape import (
    Duration,
    Int,
    ListOf,
    MapOf,
    Name,
    Number,
    Record,
    Size,
    Str,
    Table,
    shaped,
)
from dagflow.core.source import NOWHERE, At, Span
from dagflow.core.workflow import ModelPrice


@dataclass(frozen=True, slots=True, kw_only=True)
class Workers:
    """Workers of one make."""

    count: At[int] | None = shaped(
        Int(minimum=1, maximum=100_000), "how many workers there are (default 1)", default=None
    )
    slots: At[int] | None = shaped(
        Int(minimum=1, maximum=10_000), "steps that one takes at a time (default 1)", default=None
    )
    memory: At[int] | None = shaped(Size(), "memory that one step may get", default=None)
    cpu: At[float] | None = shaped(
        Number(minimum=0.01, maximum=1024), "cores that one step may get", default=None
    )
    gpus: At[int] | None = shaped(Int(maximum=1024), "accelerators", default=None)
    labels: tuple[At[str], ...] = shaped(
        ListOf(Str(), single=True), "what `placement` may ask for", default=()
    )
    queues: tuple[At[str], ...] = shaped(
        ListOf(Name(), single=True), "the queues that they serve (default `default`)", default=()
    )
    span: Span = NOWHERE


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeated:
    """Other work that comes again on the same workers."""

    every: At[timedelta] = shaped(Duration(), "how often it comes")
    time: At[timedelta] = shaped(Duration(), "how long it keeps one worker busy")
    deadline: At[timedelta] | None = shaped(
        Duration(), "when it must be over (default: before it comes again)", default=None
    )
    longest: At[timedelta] | None = shaped(
        Duration(), "its longest step, which nothing can stop (default: all of it)", default=None
    )
    queue: At[str] | None = shaped(Name(), "the queue (default `default`)", default=None)
    span: Span = NOWHERE


@dataclass(frozen=True, slots=True, kw_only=True)
class Prices:
    """What things cost here, in one currency."""

    currency: At[str] | None = shaped(
        Str(max_length=16), "what the prices are in; shown and no more", default=None
    )
    models: Table[ModelPrice] = shaped(
        MapOf(Record(ModelPrice), free=True),
        "models by their name at their server, their route, or their name in a workflow",
        default=Table(),
    )
    tools: Table[At[float]] = shaped(
        MapOf(Number(), free=True), "a call of an operation, or of any of a tool", default=Table()
    )
    span: Span = NOWHERE


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteFile:
    """A whole site file."""

    dagflow_site: At[int] = shaped(Int(minimum=1, maximum=1), "version of site files: 1")
    workers: Table[Workers] = shaped(
        MapOf(Record(Workers)), "classes of workers by name", default=Table()
    )
    loads: Table[Repeated] = shaped(
        MapOf(Record(Repeated)), "other scheduled work, the most urgent first", default=Table()
    )
    history: At[str] | None = shaped(
        Str(max_length=4096),
        "file of what was recorded (`dagflow history -o`), from this file",
        default=None,
    )
    prices: Prices | None = shaped(Record(Prices), "what models and tools cost", default=None)
    span: Span = NOWHERE
