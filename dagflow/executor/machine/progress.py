"""What follows when a step has ended, and when a frame has."""

from __future__ import annotations

from dagflow.core.run import RunState, StepRecord
from dagflow.executor.machine import finish
from dagflow.executor.machine.draft import Draft
from dagflow.executor.machine.index import Block, Site
from dagflow.executor.machine.loops import is_unhandled, item_ended, turn_ended
from dagflow.executor.machine.paths import frame_of, split_frame


def ended(draft: Draft, path: str, site: Site) -> None:
    """Look at the steps that waited for this one, and at the frame it was in."""
    record = draft.run.steps.get(path)
    if record is None or not record.is_final:
        return
    if site.of is not None:
        finish.undone(draft, path)
        return
    frame, block = frame_of(path), site.block
    for dependent in site.dependents:
        draft.later("consider", dependent, frame, site.name)
    if block is draft.index.top and _stops_run(draft, record):
        finish.stop(draft, "failed", finish.failure_of_step(record))
        return
    if is_whole(draft, frame, block) and frame not in draft.closed:
        draft.closed.add(frame)
        draft.later("complete", frame, block)


def _stops_run(draft: Draft, record: StepRecord) -> bool:
    """Tell whether a step of the top failed so that nothing else shall begin.

    A paused run goes on as it is, and is stopped when the pause ends.
    """
    run = draft.run
    going = not (run.state is RunState.FINISHING or run.state.is_final or run.paused)
    return going and draft.plan.on_failure == "stop" and is_unhandled(record)


def is_whole(draft: Draft, frame: str, block: Block) -> bool:
    """Tell whether every step of a frame is final (`finally` shares the top's frame)."""
    size = block.size + (draft.index.top.size if block.kind == "finally" else 0)
    return draft.run.done.get(frame, 0) >= size


def complete(draft: Draft, frame: str, block: Block) -> None:
    """Tell whoever a frame belongs to that it has ended."""
    if block.owner is None:
        _complete_run(draft, block)
        return
    path, index = split_frame(frame)
    if draft.record(path).state != "waiting(child)":
        return
    if block.kind == "foreach":
        item_ended(draft, path, block.owner, index)
    else:
        turn_ended(draft, path, block.owner, index)


def _complete_run(draft: Draft, block: Block) -> None:
    finishing = draft.run.state is RunState.FINISHING
    if block.kind == "finally" and finishing:
        finish.finally_ended(draft)
    elif block.kind == "steps" and not finishing and not draft.run.state.is_final:
        finish.top_ended(draft)
