"""The site: what the place where runs happen offers, and what it has recorded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from dagflow.core.money import PriceList
from dagflow.core.records import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerClass:
    """Workers of one make: how many there are, and what each gives to one step at most.

    `memory` is in bytes, `cpu` in cores; `slots` is how many steps one worker takes at a time;
    `labels` what a step's `placement` may ask for; `queues` those that it serves.
    """

    name: str
    count: int = 1
    slots: int = 1
    memory: int | None = None
    cpu: float | None = None
    gpus: int = 0
    labels: tuple[str, ...] = ()
    queues: tuple[str, ...] = ("default",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """Other work that comes again on the same workers: `time` seconds of one worker in each
    `every` seconds, begun before a workflow's own runs; the longest step of it takes `longest`.
    """

    name: str
    every: float
    time: float
    deadline: float
    queue: str = "default"
    longest: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Used:
    """What a step used in the runs of a window that are over: sums, loops with all their turns.

    `runs` are those whose plan has the step; it `ran` so often in them (0 where no run came to
    it), and that took `calls` (of a tool or a workflow, one an attempt), `items`, and `tokens`, of
    which `prompt_tokens` were those of prompts.
    """

    runs: int = 0
    ran: int = 0
    calls: int = 0
    items: int = 0
    tokens: int = 0
    prompt_tokens: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """What was recorded in one stretch of time: latencies in seconds, in any order.

    `steps` are by workflow and step ("triage.fetch"), from the first attempt's begin to the end
    of the last; `operations` ("helpdesk.getTicket", or "helpdesk.GET /tickets/{id}") and `models`
    are those of single attempts, for steps of which nothing is recorded; `waits` how long steps
    were ready before a worker began them, by workflow and step or by queue; `used` what steps used,
    by workflow and static path ("triage.loop.grade").
    """

    steps: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    operations: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    models: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    waits: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    used: Mapping[str, Used] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """What the compiler may know of the site; nothing of it is needed to check a workflow.

    Without `workers` nothing is said about what workers can give, without `history` (in the order
    of time) nothing about how long steps take and what they use on average.
    """

    workers: tuple[WorkerClass, ...] = ()
    loads: tuple[Load, ...] = ()
    history: tuple[Window, ...] = ()
    prices: PriceList = PriceList()


NOWHERE_YET = Site()
"""A site that nothing is known of."""
