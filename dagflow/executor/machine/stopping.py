"""Stopping what runs: a composite's inside, or the whole run."""

from __future__ import annotations

from collections.abc import Iterable

from dagflow.core.run import Kill, StopChild
from dagflow.executor.machine import budget
from dagflow.executor.machine.draft import Draft
from dagflow.executor.machine.ending import cancel
from dagflow.executor.machine.index import Site
from dagflow.executor.machine.paths import frame_of, within


def interrupt(draft: Draft, path: str, site: Site) -> None:
    """Ask whoever works on the step, outside or inside of it, to stop; the step stays."""
    _halt(draft, path, site)
    if site.inner is not None:
        stop_inside(draft, path)


def stop_inside(draft: Draft, path: str) -> None:
    """Cancel every step inside a composite that began or would begin."""
    prefix = f"{path}["
    _stop(draft, [active for active in draft.run.active if active.startswith(prefix)])


def stop_all(draft: Draft) -> None:
    """Cancel every step that is not final."""
    _stop(draft, list(draft.run.active))
    _cancel_pending(draft, "", draft.index.top.sites.values())


def _stop(draft: Draft, paths: list[str]) -> None:
    frames: dict[str, Site] = {}
    for path in paths:
        site = draft.site(path)
        _halt(draft, path, site)
        cancel(draft, path, site)
        if site.block.owner is not None and site.of is None:
            frames[frame_of(path)] = site
    for frame, site in frames.items():
        _cancel_pending(draft, frame, site.block.sites.values())


def _halt(draft: Draft, path: str, site: Site) -> None:
    """Stop the worker or the child run that works on the step, if one does."""
    record = draft.record(path)
    if record.state == "running" and not site.in_engine:
        budget.forfeit(draft, site)
        draft.send(Kill(path=path, token=record.token))
    elif record.state == "waiting(child)" and site.step.kind == "workflow":
        draft.send(StopChild(path=path, key=str(record.data["key"])))


def _cancel_pending(draft: Draft, frame: str, sites: Iterable[Site]) -> None:
    for site in sites:
        path = within(frame, site.name)
        if draft.record(path).state == "pending":
            cancel(draft, path, site)
