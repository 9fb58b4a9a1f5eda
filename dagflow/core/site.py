"""The site: what the place where runs happen offers, and what it has recorded."""

from __future__ import annotations

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
class Site:
    """What the compiler may know of the site; nothing of it is needed to check a workflow.

    Without `workers` nothing is said about what workers can give.
    """

    workers: tuple[WorkerClass, ...] = ()


NOWHERE_YET = Site()
"""A site that nothing is known of."""
