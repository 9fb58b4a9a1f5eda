"""Random workflows, as a `Flow` for the reference and as YAML for dagflow."""

from __future__ import annotations

import json
from collections.abc import Callable

from hypothesis import strategies as st

from tests.property.joins import Edge, Handler
from tests.property.reference import Flow, Guard, Step, View

RETRIED = "[timeout, network]"
CLASSES = ("timeout", "network", "user", "http_5xx")
HANDLED = (*CLASSES, "guard")
ENDINGS = ("ok", "ok", "ok", "ok", *CLASSES)


def on_input(limit: int) -> Guard:
    return Guard(f"inputs.n > {limit}", lambda n, _: n > limit)


def on_quotient(offset: int) -> Guard:
    """Return a guard that fails for one input."""
    return Guard(f"1 / (inputs.n - {offset}) > 0", lambda n, _: 1 // (n - offset) > 0)


def always() -> Guard:
    return Guard("true", lambda _, __: True)


def on_status(name: str, status: str) -> Guard:
    test = _status_test(name, status)
    return Guard(f'steps.{name}.status == "{status}"', test, ordering=frozenset({name}))


def _status_test(name: str, status: str) -> Callable[[int, View], bool]:
    return lambda _, view: view(name).state.partition("(")[0] == status


def on_default(name: str, limit: int) -> Guard:
    def test(_: int, view: View) -> bool:
        seen = view(name)
        return (seen.output if seen.state == "succeeded" and seen.output is not None else 0) > limit

    cel = f"steps.?{name}.output.?v.orValue(0) > {limit}"
    return Guard(cel, test, ordering=frozenset({name}))


@st.composite
def guards(draw: st.DrawFn, earlier: list[str]) -> Guard:
    kinds = ["input", "quotient", "always"] + (["status", "default"] * 2 if earlier else [])
    kind = draw(st.sampled_from(kinds))
    if kind == "always":
        return always()
    if kind == "quotient":
        return on_quotient(draw(st.integers(-1, 3)))
    if kind == "input":
        return on_input(draw(st.integers(-1, 3)))
    name = draw(st.sampled_from(earlier))
    if kind == "status":
        return on_status(name, draw(st.sampled_from(["succeeded", "failed", "skipped"])))
    return on_default(name, draw(st.integers(0, 1)))


@st.composite
def steps(draw: st.DrawFn, index: int, names: list[str], work: list[str]) -> Step:
    earlier, later = names[:index], names[index + 1 :]
    after = tuple(
        Edge(name, draw(st.sampled_from(["success", "success", "failure", "skipped", "done"])))
        for name in draw(st.lists(st.sampled_from(earlier), max_size=3, unique=True))
    ) if earlier else ()  # fmt: skip
    join = draw(st.sampled_from(["all", "all", "all", "any", 1, 2])) if len(after) > 1 else "all"
    when = draw(guards(work)) if draw(st.integers(0, 3)) == 0 else None
    if later and draw(st.integers(0, 4)) == 0:
        ways = draw(branches(later, work))
        handled = draw(st.lists(handlers_to(later, most=len(ways)), max_size=1))
        return Step(names[index], after, join, when, branches=ways, handlers=tuple(handled))
    reads = draw(st.lists(st.sampled_from(work), max_size=1)) if work else []
    handlers = draw(st.lists(handlers_to(later), max_size=1))
    return Step(
        name=names[index],
        after=after,
        join=join,
        when=when,
        reads=frozenset(reads),
        attempts=draw(st.integers(1, 2)),
        handlers=tuple(handlers),
        compensated=draw(st.integers(0, 4)) == 0,
        script=tuple(draw(st.lists(st.sampled_from(ENDINGS), min_size=1, max_size=2))),
    )


@st.composite
def handlers_to(draw: st.DrawFn, later: list[str], most: int = 2) -> Handler:
    on = tuple(draw(st.lists(st.sampled_from(HANDLED), max_size=2, unique=True)))
    if later and draw(st.booleans()):
        return Handler(on, goto=draw(st.sampled_from(later)))
    return Handler(on, continue_=draw(st.integers(0, most)))


@st.composite
def branches(
    draw: st.DrawFn, later: list[str], work: list[str]
) -> tuple[tuple[Guard | None, tuple[str, ...]], ...]:
    count = draw(st.integers(1, 2))
    found: list[tuple[Guard | None, tuple[str, ...]]] = []
    for _ in range(count):
        targets = draw(st.lists(st.sampled_from(later), min_size=1, max_size=2, unique=True))
        found.append((draw(guards(work)), tuple(targets)))
    if draw(st.booleans()):
        found.append((None, (draw(st.sampled_from(later)),)))
    return tuple(found)


@st.composite
def flows(draw: st.DrawFn) -> Flow:
    names = [f"s{index}" for index in range(draw(st.integers(2, 7)))]
    made: list[Step] = []
    for index in range(len(names)):
        work = [step.name for step in made if not step.is_switch]
        made.append(draw(steps(index, names, work)))
    tidy = draw(st.booleans())
    return Flow(tuple(made), ("tidy",) if tidy else (), draw(st.integers(-1, 3)))


def to_yaml(flow: Flow) -> str:
    """Write a flow as a workflow file. Work is `python`, which the tests never run."""
    lines = ["dagflow: 1", "name: generated", "inputs: {n: integer}", "steps:"]
    for step in flow.steps:
        lines += _step(step)
    if flow.finally_:
        lines.append("finally:")
        for name in flow.finally_:
            lines += [f"  {name}:", "    transform: run.status"]
    return "\n".join([*lines, "outputs: {}", ""])


def _step(step: Step) -> list[str]:
    lines = [f"  {step.name}:"]
    if step.after:
        edges = [{"step": edge.step, "on": edge.on} for edge in step.after]
        lines.append(f"    after: {json.dumps(edges)}")
    if step.join != "all":
        join = step.join if isinstance(step.join, str) else {"at_least": step.join}
        lines.append(f"    join: {json.dumps(join)}")
    if step.when is not None:
        lines.append(f"    when: {json.dumps(step.when.cel)}")
    if step.is_switch:
        rows = [
            {"when": guard.cel, "then": list(targets)} if guard else {"else": list(targets)}
            for guard, targets in step.branches
        ]
        return [*lines, f"    switch: {json.dumps(rows)}", *_on_error(step, "branch")]
    arguments = {f"r{name}": f"${{{{ steps.{name}.output.v }}}}" for name in sorted(step.reads)}
    lines += [
        '    python: "def main(**a): return {\\"v\\": 1}"',
        "    output: {v: integer}",
        f"    with: {json.dumps(arguments)}",
        f"    retry: {{attempts: {step.attempts}, backoff: 1ms, jitter: 0, on: {RETRIED}}}",
    ]
    lines += _on_error(step, "v")
    if step.compensated:
        lines.append("    compensate: {transform: '1'}")
    return lines


def _on_error(step: Step, field: str) -> list[str]:
    rows = [_handler(it, field) for it in step.handlers]
    return [f"    on_error: {json.dumps(rows)}"] if rows else []


def _handler(handler: Handler, field: str) -> dict[str, object]:
    found: dict[str, object] = {"on": list(handler.on)} if handler.on else {}
    if handler.goto is not None:
        return {**found, "goto": handler.goto}
    return {**found, "continue": {field: handler.continue_}}
