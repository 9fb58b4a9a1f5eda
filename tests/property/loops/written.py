"""Writes a `LoopFlow` as a workflow file. Work is `python`, which the tests never run."""

from __future__ import annotations

import json

from dagflow.core.values import JsonValue
from tests.property.joins import Handler
from tests.property.loops.parts import Foreach, LoopFlow, Part, Repeat, sinks

CONTINUED = {"work": "v", "repeat": "v", "switch": "branch"}


def to_yaml(flow: LoopFlow) -> str:
    """Return the text; JSON is YAML."""
    document: dict[str, JsonValue] = {
        "dagflow": 1,
        "name": "generated",
        "inputs": {
            "n": "integer",
            "xs": {"type": "array", "maxItems": 4, "items": {"type": "integer"}},
        },
        "steps": {step.name: _step(step) for step in flow.steps},
        "on_failure": "stop" if flow.stops else "continue",
        "outputs": {step.name: _output(step) for step in flow.steps},
    }
    return json.dumps(document, indent=1)


DEFAULTS: dict[str, JsonValue] = {"work": {"v": -1}, "foreach": []}
"""What the run's outputs have for a step without output; of the other kinds they tell the state."""


def _output(step: Part) -> str:
    if step.kind not in DEFAULTS:
        return f"${{{{ steps.{step.name}.status }}}}"
    return f"${{{{ steps.?{step.name}.output.orValue({json.dumps(DEFAULTS[step.kind])}) }}}}"


def continued(step: Part, value: int) -> JsonValue:
    """Return what a handler goes on with, in the type of the step's output."""
    if isinstance(step.loop, Repeat) and step.loop.collect is None:
        return continued(sinks(step.loop.steps)[0], value)
    return [] if step.kind == "foreach" else {CONTINUED[step.kind]: value}


def _step(step: Part) -> dict[str, JsonValue]:
    found: dict[str, JsonValue] = {}
    if step.after:
        found["after"] = [{"step": edge.step, "on": edge.on} for edge in step.after]
    if step.join != "all":
        found["join"] = step.join if isinstance(step.join, str) else {"at_least": step.join}
    if step.when is not None:
        found["when"] = step.when.cel
    if step.handlers:
        found["on_error"] = [_handler(step, it) for it in step.handlers]
    if step.attempts > 1:
        retry = {"backoff": "1ms", "jitter": 0, "on": list(step.retried)}
        found["retry"] = {"attempts": step.attempts, **retry}
    if step.timeout is not None:
        found["timeout"] = f"{step.timeout}s"
    if step.compensated:
        found["compensate"] = {"transform": "1"}
    return {**found, **_body(step)}


def _body(step: Part) -> dict[str, JsonValue]:
    if step.branches:
        rows: list[JsonValue] = [
            {"when": guard.cel, "then": list(targets)} if guard else {"else": list(targets)}
            for guard, targets in step.branches
        ]
        return {"switch": rows}
    if isinstance(step.loop, Foreach):
        return {"foreach": _foreach(step.loop)}
    if isinstance(step.loop, Repeat):
        return {"repeat": _repeat(step.loop)}
    return {
        "python": 'def main(**a): return {"v": 1}',
        "timeout": "1d",
        "output": {"v": "integer"},
        "with": {f"r{i}": f"${{{{ {it.cel} }}}}" for i, it in enumerate(step.arguments)},
    }


def _foreach(loop: Foreach) -> dict[str, JsonValue]:
    collect = {} if loop.collect is None else {"collect": loop.collect.cel}
    return {
        "items": loop.items.cel,
        "as": loop.as_,
        "concurrency": loop.concurrency,
        "max_items": loop.max_items,
        "tolerate": loop.tolerate,
        **collect,
        "steps": {step.name: _step(step) for step in loop.steps},
    }


def _repeat(loop: Repeat) -> dict[str, JsonValue]:
    collect = {} if loop.collect is None else {"collect": loop.collect.cel}
    return {
        "until": loop.until.cel,
        "max": loop.max,
        "on_max": loop.on_max,
        **collect,
        "steps": {step.name: _step(step) for step in loop.steps},
    }


def _handler(step: Part, handler: Handler) -> dict[str, JsonValue]:
    found: dict[str, JsonValue] = {"on": list(handler.on)} if handler.on else {}
    if handler.goto is not None:
        return {**found, "goto": handler.goto}
    assert handler.continue_ is not None
    return {**found, "continue": continued(step, handler.continue_)}
