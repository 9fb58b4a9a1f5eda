"""Draws workflows with loops, two deep."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from tests.property.joins import Edge, Handler
from tests.property.loops.choices import rarely, some
from tests.property.loops.expressions import Around, arguments, collects, guards, lists
from tests.property.loops.parts import Expr, Foreach, LoopFlow, Part, Repeat, sinks

WORK_RETRIED = ("timeout", "network")
LOOP_RETRIED = ("user", "timeout", "network", "http_5xx", "expression", "exhausted")
HANDLED = (*LOOP_RETRIED, "guard")
NAMES = (("a", "b", "c", "d", "e"), ("p", "q", "r"), ("x", "y", "z"))
SIZES = ((3, 4, 5, 2), (2, 3, 1), (1, 2, 3))
UNMET = {"failure", "skipped"}
TIMEOUTS = (100, 7)


def loop_flow(rng: Random) -> LoopFlow:
    xs = tuple(rng.randint(0, 3) for _ in range(rng.choice((3, 2, 4, 3, 1, 0))))
    return LoopFlow(_block(rng, Around()), rng.randint(-1, 3), xs, stops=rarely(rng, 6))


def _block(rng: Random, around: Around) -> tuple[Part, ...]:
    """Draw steps that wait for and read earlier ones, and steps of the blocks around."""
    names = NAMES[around.depth][: rng.choice(SIZES[around.depth])]
    made: tuple[Part, ...] = ()
    for index in range(len(names)):
        step = _step(rng, names, index, made, around)
        made = (*made, step)
        around = around.with_step(step)
    return made


def _step(
    rng: Random, names: tuple[str, ...], index: int, made: tuple[Part, ...], around: Around
) -> Part:
    step = Part(names[index], after=_edges(rng, made))
    led = {it.name for it in made if _leads(it, step.name)}
    if len(led | {edge.step for edge in step.after}) > 1:
        step = replace(step, join=rng.choice(("all", "any", "any", 1, 2)))
    around = around.without({edge.step for edge in step.after if edge.on in UNMET} | led)
    if rarely(rng, 6):
        step = replace(step, when=guards(rng, around))
    step = _with_kind(rng, step, names[index + 1 :], around)
    controls = {*led, *(edge.step for edge in step.after)}
    if isinstance(step.join, int) and step.reads("ordering") & controls:
        return replace(step, join="all")  # what is seen of those depends on the moment
    return step


def _edges(rng: Random, made: tuple[Part, ...]) -> tuple[Edge, ...]:
    found = []
    for it in some(rng, made):
        ways = ["success"] * 3 + ["failure", "done", "done"]
        ways += ["skipped"] * (it.when is not None or len(it.after) > 0)
        found.append(Edge(it.name, rng.choice(ways)))
    return tuple(found)


def _leads(step: Part, to: str) -> bool:
    return any(to in way for way in step.targets) or any(it.goto == to for it in step.handlers)


def _with_kind(rng: Random, step: Part, later: tuple[str, ...], around: Around) -> Part:
    kinds = ["work", "work"] + ["switch"] * bool(later)
    kinds += ["foreach", "repeat"] * (2, 1, 0)[around.depth]
    kind = rng.choice(kinds)
    if kind == "switch":
        ways = _branches(rng, later, around)
        return replace(step, branches=ways, handlers=_handlers(rng, later, len(ways)))
    step = replace(step, handlers=_handlers(rng, later, 2))
    if rarely(rng, 2):
        classes = some(rng, WORK_RETRIED if kind == "work" else LOOP_RETRIED, 2, 4)
        step = replace(step, attempts=rng.randint(2, 3), retried=classes)
    if kind == "work":
        given = tuple(arguments(rng, around) for _ in range(rng.randint(0, 2)))
        return replace(step, arguments=given, compensated=rarely(rng, 5))
    timeout = TIMEOUTS[around.depth] if rarely(rng, 3) else None
    loop = _foreach(rng, around) if kind == "foreach" else _repeat(rng, around)
    return replace(step, loop=loop, timeout=timeout)


def _handlers(rng: Random, later: tuple[str, ...], most: int) -> tuple[Handler, ...]:
    if not rarely(rng, 2):
        return ()
    on = some(rng, HANDLED)
    if later and rarely(rng, 2):
        return (Handler(on, goto=rng.choice(later)),)
    return (Handler(on, continue_=rng.randint(0, most)),)


def _branches(
    rng: Random, later: tuple[str, ...], around: Around
) -> tuple[tuple[Expr | None, tuple[str, ...]], ...]:
    found: list[tuple[Expr | None, tuple[str, ...]]] = [
        (guards(rng, around), some(rng, later, 1)) for _ in range(rng.randint(1, 2))
    ]
    if rarely(rng, 2):
        found.append((None, (rng.choice(later),)))
    return tuple(found)


def _foreach(rng: Random, around: Around) -> Foreach:
    as_ = f"i{around.depth}"
    inner = around.inside(as_, f"{as_}_index", previous=around.previous)
    made = _block(rng, inner)
    return Foreach(
        steps=made,
        items=lists(rng, around),
        as_=as_,
        concurrency=rng.randint(1, 3),
        max_items=rng.choice((4, 4, 4, 3, 2)),
        tolerate=rng.choice((0, 0, 1, 2)),
        collect=None if _one_sink(rng, made) else collects(rng, inner.with_steps(made)),
    )


def _repeat(rng: Random, around: Around) -> Repeat:
    collected = rarely(rng, 2)
    made = _block(rng, around.inside("turn", previous=collected))
    collected = collected or not _one_sink(rng, made)
    ended = around.inside("turn", previous=collected).with_steps(made)
    return Repeat(
        steps=made,
        until=guards(rng, ended, plain=rarely(rng, 8)),
        max=rng.choice((3, 2, 4, 1)),
        on_max=rng.choice(("succeed", "succeed", "fail")),
        collect=collects(rng, ended) if collected else None,
    )


def _one_sink(rng: Random, made: tuple[Part, ...]) -> bool:
    return len(sinks(made)) == 1 and rarely(rng, 2)
