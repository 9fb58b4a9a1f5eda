"""A chain of no-op steps and a fan of them, embedded.

SQLite in WAL mode with synchronous=FULL; a step is a `transform` that gives `{"n": i}`. Unfused,
each step is one durable transition; fused, the chain is one dispatch, recorded together.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from dagflow.compiler import compile_workflow
from dagflow.core.plan import Plan
from dagflow.core.run import Run, RunState
from dagflow.core.source import Source
from dagflow.core.tool import ToolCatalog
from dagflow.executor.dispatch.inline import InlineDispatcher
from dagflow.executor.engine import Engine
from dagflow.executor.worker import Worker
from dagflow.store.base import RunStore
from dagflow.store.schema import opened

STEPS = 100
WIDE = 500


def chain_of(steps: int, *, fused: bool = False) -> Plan:
    """Return a plan of steps that run one after another."""
    lines = ["dagflow: 1", "name: chain", "steps:"]
    for number in range(steps):
        lines.append(f"  s{number}:")
        lines.append(f"    transform: '{{\"n\": {number}}}'")
        if number:
            lines.append(f"    after: s{number - 1}")
    plan = _compiled("\n".join(lines))
    return replace(plan, name="fused") if fused else replace(plan, fused=())


def fan_of(width: int) -> Plan:
    """Return a plan of one step, `width` steps after it, and one after them all."""
    lines = ["dagflow: 1", "name: fan", "steps:", "  a: {transform: '{\"n\": 0}'}"]
    names = [f"s{number}" for number in range(width)]
    lines += [
        f"  {name}: {{transform: '{{\"n\": {number}}}', after: a}}"
        for number, name in enumerate(names)
    ]
    lines.append(f"  j: {{transform: '{{\"n\": {width}}}', after: [{', '.join(names)}]}}")
    return replace(_compiled("\n".join(lines)), fused=())


def _compiled(text: str) -> Plan:
    compiled = compile_workflow(Source(name="bench.yaml", text=text), ToolCatalog())
    if compiled.plan is None:
        raise SystemExit(f"the benchmark does not compile: {compiled.report.findings[:3]}")
    return compiled.plan


def embedded(folder: Path, plan: Plan, steps: int) -> Callable[[], float]:
    """Return a round of one whole run on a database of its own: milliseconds a step."""
    store = opened(f"sqlite:///{folder}/{plan.name}.db")
    return lambda: asyncio.run(_ran(store, plan))[1] * 1000 / steps


def transactions(folder: Path, plan: Plan) -> int:
    """Return how many transactions a run of a plan takes, from its start to its end."""
    store = opened(f"sqlite:///{folder}/{plan.name}_counted.db")
    return asyncio.run(_ran(store, plan))[0].version


async def _ran(store: RunStore, plan: Plan) -> tuple[Run, float]:
    """Return a run of a plan, and the seconds that it took."""
    doorbell = InlineDispatcher()
    engine = Engine(store, doorbell)
    async with Worker(engine, doorbell, concurrency=32):
        begun = time.perf_counter()
        over = await engine.wait(engine.submit(plan, {}))
        taken = time.perf_counter() - begun
    if over.state is not RunState.SUCCEEDED:
        raise SystemExit(f"the benchmark's run {over.state.value}: {over.error}")
    return over, taken
