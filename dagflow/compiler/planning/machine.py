"""The state machine that a plan carries: the moves of each step, each with its condition.

It is `core.run.MOVES` cut down to what a step's kind can do and its text allows. The engine makes
listed moves only, so what is missing here can't happen; `docs/states.md` shows the whole.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Final

from dagflow.compiler.defaults import retry_of, timeout_of
from dagflow.compiler.graph.build import BlockGraph
from dagflow.compiler.graph.edges import inside_out
from dagflow.compiler.memory import Memory
from dagflow.compiler.model import TOPS, Model, StepFacts
from dagflow.compiler.planning.conditions import (
    ALWAYS,
    cannot_start,
    denied,
    either,
    joined,
    may_start,
    one_of,
)
from dagflow.compiler.planning.prune import Pruned
from dagflow.compiler.planning.rename import Names, in_text, names_in
from dagflow.core.findings import Removal
from dagflow.core.plan import Constraint, RetryPolicy
from dagflow.core.records import dataclass
from dagflow.core.states import MOVES, STATES
from dagflow.core.steps import KINDS
from dagflow.core.steps.approve import Approve, Goto
from dagflow.core.steps.wait import Wait
from dagflow.expr.lexer import tidy

GUARD_HAS_NO_VALUE: Final = 'error.class == "guard"'
TIME_IS_UP: Final = 'error.class == "timeout"'
IS_DUE: Final = "now >= due"
OTHERWISE: Final = 'error.class != "timeout"'

PARENTS: Final = frozenset({"foreach", "repeat", "workflow"})
"""Kinds that wait for steps or a run of their own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Nature:
    """What decides which moves a step can make."""

    facts: StepFacts
    graph: BlockGraph | None
    sources: dict[str, StepFacts]
    retry: RetryPolicy
    times_out: bool
    waits_for: tuple[str, ...]
    folded: bool
    names: Names
    idle: str = ""

    @property
    def in_engine(self) -> bool:
        """Tell whether no worker ever sees the step."""
        return KINDS[self.facts.kind].in_engine

    @property
    def recovers(self) -> bool:
        """Tell whether some failure of the step becomes a success."""
        return any(handler.continue_ is not None for handler in self.facts.step.on_error)

    @property
    def recovers_guard(self) -> bool:
        """Tell whether a guard without a value becomes a success."""
        handlers = self.facts.step.on_error
        taken = (h for h in handlers if not h.on or any(on.value == "guard" for on in h.on))
        handler = next(taken, None)
        return handler is not None and handler.continue_ is not None

    @property
    def guard(self) -> str | None:
        """Return the guard as it reads among the steps that are left."""
        guard = self.facts.step.when
        return None if guard is None else in_text(guard.value, self.names)

    @property
    def when(self) -> str:
        """Return the guard, "true" where there is none or it is always true."""
        guard = self.guard
        return ALWAYS if guard is None or self.folded else tidy(guard)

    @property
    def start(self) -> str:
        """Return the condition that all that the step waits for is there."""
        if self.graph is None:
            return ALWAYS
        return may_start(self.graph, self.sources, self.facts.path)


def constraints(
    model: Model, pruned: Pruned, memory: Memory
) -> tuple[tuple[Constraint, ...], tuple[Removal, ...]]:
    """Return the moves of every step and compensation, and those left out as impossible.

    A move is left out, and said, where the step's own text speaks of it but it can never be made.
    """
    listed: list[Constraint] = []
    idle: list[Removal] = []
    for nature in _natures(model, pruned):
        listed += _known(nature, memory)
        idle += _impossible(nature)
    return tuple(listed), tuple(idle)


def _natures(model: Model, pruned: Pruned) -> Iterator[_Nature]:
    late = _may_time_out(model)
    for block in pruned.graphs.blocks.values():
        sources = {step: pruned.graphs.facts[step] for step in block.steps}
        names = names_in(model, pruned.merged, block.path)
        for facts in sources.values():
            for each, graph in ((facts, block), (facts.compensate, None)):
                if each is not None:
                    yield _Nature(
                        facts=each,
                        graph=graph,
                        sources=sources,
                        retry=retry_of(each.step, model.workflow),
                        times_out=each.path in late,
                        waits_for=_waits_for(each),
                        folded=each.path in pruned.folded,
                        names=names,
                        idle=pruned.idle[each.path].text if each.path in pruned.idle else "",
                    )


def _waits_for(facts: StepFacts) -> tuple[str, ...]:
    """Return the reasons for which a step of this kind waits while it runs."""
    body = facts.step.body
    if isinstance(body, Approve):
        return ("approval",)
    if isinstance(body, Wait):
        return ("signal",) if body.signal is not None else ("timer",)
    if facts.kind in PARENTS:
        return ("child",)
    return ()


def _may_time_out(model: Model) -> frozenset[str]:
    """Return the steps that a time bound of their own, or of something inside them, can end.

    Compensations and all of `finally` end when `cleanup` runs out of time.
    """
    found: set[str] = set()
    for path, block in model.blocks.items():
        late = _is_cleanup(model, path)
        for facts in block.steps:
            if late or _is_timed(model, facts):
                found.add(facts.path)
            if facts.compensate is not None:
                found.add(facts.compensate.path)
    for path in inside_out(model.blocks):
        if path not in TOPS and any(step.path in found for step in model.blocks[path].steps):
            found.add(path)
    return frozenset(found)


def _is_cleanup(model: Model, block: str | None) -> bool:
    while block is not None and block != "finally":
        block = model.blocks[block].parent
    return block == "finally"


def _is_timed(model: Model, facts: StepFacts) -> bool:
    step = facts.step
    bounded = step.deadline is not None or timeout_of(step, model.workflow) is not None
    return bounded or facts.kind == "workflow"


def _known(nature: _Nature, memory: Memory) -> tuple[Constraint, ...]:
    """Return a step's moves, worked out once for all that they depend on."""
    key = (
        nature.facts.path,
        nature.facts.kind,
        nature.facts.effects,
        nature.guard,
        _handling(nature.facts),
        None if nature.graph is None else _surroundings(nature, nature.graph),
        nature.retry,
        nature.times_out,
        nature.waits_for,
        nature.folded,
        nature.idle,
    )
    return memory.recall("moves", key, lambda: tuple(_constraints(nature)))


def _surroundings(nature: _Nature, graph: BlockGraph) -> Hashable:
    """Return what the conditions of a step's moves depend on outside of it."""
    path = nature.facts.path
    edges = graph.incoming.get(path, ())
    return (
        graph.join(path),
        tuple([(edge.source, edge.required) for edge in graph.reads.get(path, ())]),
        tuple([(edge.source, edge.on, edge.branches) for edge in edges]),
        tuple([_handling(nature.sources[edge.source]) for edge in edges if "goto" in edge.on]),
    )


def _handling(facts: StepFacts) -> Hashable:
    """Return what the conditions depend on of a step's handlers, and of what else can fail."""
    step = facts.step
    handlers = tuple([
        (
            tuple([on.value for on in handler.on]),
            handler.continue_ is None,
            None if handler.goto is None else handler.goto.value,
        )
        for handler in step.on_error
    ])  # fmt: skip
    if not isinstance(step.body, Approve):
        return handlers
    expiry = step.body.on_expiry
    goto = expiry.goto.value if isinstance(expiry, Goto) else None
    return (handlers, step.body.expires is None, goto)


def _constraints(nature: _Nature) -> Iterator[Constraint]:
    """Yield a step's moves, in the order of the language's table."""
    found: dict[tuple[str, str], str] = {}
    for before, after, guard in _moves(nature):
        found.setdefault((before, after), guard)
    for before, after in sorted(found, key=_ORDER.__getitem__):
        guard = found[before, after]
        yield Constraint(step=nature.facts.path, before=before, after=after, guard=guard)


def _place(move: tuple[str, str]) -> tuple[int, int]:
    return STATES.index(move[0]), STATES.index(move[1])


_ORDER: Final = {move: index for index, move in enumerate(sorted(MOVES, key=_place))}
"""Where each move stands in the language's table."""


def _moves(nature: _Nature) -> Iterator[tuple[str, str, str]]:
    yield from _from_pending(nature)
    if nature.idle:
        return
    yield from _from_ready(nature)
    yield from _from_running(nature)
    if nature.retry.attempts > 1:
        yield from _from_backoff(nature)
    for reason in nature.waits_for:
        yield from _from_waiting(nature, f"waiting({reason})")
    if nature.facts.effects == "once" and not nature.in_engine:
        yield from _from_unknown(nature)


def _from_pending(nature: _Nature) -> Iterator[tuple[str, str, str]]:
    start, when, graph = nature.start, nature.when, nature.graph
    handled = when != ALWAYS and nature.recovers_guard
    yield "pending", "cancelled", ALWAYS
    if not nature.idle:
        admitted = either((when, GUARD_HAS_NO_VALUE)) if handled else when
        yield "pending", "ready", joined((start, admitted))
    if graph is not None and (
        graph.incoming.get(nature.facts.path) or graph.reads.get(nature.facts.path)
    ):
        cannot = cannot_start(graph, nature.sources, nature.facts.path)
        yield "pending", "skipped(upstream)", cannot
    if when != ALWAYS:
        yield "pending", "skipped(guard)", joined((start, denied(when)))
        failing = OTHERWISE if handled else GUARD_HAS_NO_VALUE  # the handler's own value may fail
        yield "pending", "failed", joined((start, failing))


def _from_ready(nature: _Nature) -> Iterator[tuple[str, str, str]]:
    yield "ready", "running", ALWAYS
    yield "ready", "failed", OTHERWISE
    yield "ready", "cancelled", ALWAYS
    if nature.times_out:
        yield "ready", "timed_out", TIME_IS_UP


def _from_running(nature: _Nature) -> Iterator[tuple[str, str, str]]:
    yield "running", "cancelled", ALWAYS
    yield "running", "failed", OTHERWISE
    if nature.times_out:
        yield "running", "timed_out", TIME_IS_UP
    if _succeeds_at_once(nature):
        yield "running", "succeeded", ALWAYS
    if nature.retry.attempts > 1:
        yield "running", "waiting(backoff)", _retried(nature.retry)
    if not nature.in_engine:
        yield "running", "ready", ALWAYS  # a worker that is stopped gives its leases back
    elif nature.retry.attempts > 1:
        yield "running", "ready", _retried(nature.retry)
    for reason in nature.waits_for:
        yield "running", f"waiting({reason})", ALWAYS


def _succeeds_at_once(nature: _Nature) -> bool:
    """Tell whether the step can succeed without waiting for something first."""
    if nature.recovers or not nature.in_engine or nature.facts.kind == "switch":
        return True
    return "signal" in nature.waits_for  # one may be queued already


def _from_backoff(nature: _Nature) -> Iterator[tuple[str, str, str]]:
    yield "waiting(backoff)", "ready", IS_DUE
    yield "waiting(backoff)", "failed", OTHERWISE
    yield "waiting(backoff)", "cancelled", ALWAYS
    if nature.times_out:
        yield "waiting(backoff)", "timed_out", TIME_IS_UP


def _from_waiting(nature: _Nature, here: str) -> Iterator[tuple[str, str, str]]:
    yield here, "succeeded", IS_DUE if here == "waiting(timer)" else ALWAYS
    yield here, "failed", _failing(nature, here)
    yield here, "cancelled", ALWAYS
    if nature.times_out:
        yield here, "timed_out", TIME_IS_UP
    if here == "waiting(child)" and nature.retry.attempts > 1:
        yield here, "ready", _retried(nature.retry)
        yield here, "waiting(backoff)", _retried(nature.retry)


def _failing(nature: _Nature, here: str) -> str:
    if here == "waiting(approval)" and not nature.recovers:  # a handler's own value may fail
        expires = getattr(nature.facts.step.body, "expires", None) is not None
        return one_of("error.class", ["rejected", *(["expired"] if expires else [])])
    return OTHERWISE


def _from_unknown(nature: _Nature) -> Iterator[tuple[str, str, str]]:
    here = "waiting(unknown_outcome)"
    yield "running", here, one_of("error.class", ["lost", "timeout", "network"])
    yield here, "succeeded", ALWAYS
    yield here, "failed", OTHERWISE if nature.recovers else 'error.class == "conflict"'
    yield here, "cancelled", ALWAYS
    if nature.times_out:
        yield here, "timed_out", TIME_IS_UP


def _retried(retry: RetryPolicy) -> str:
    return joined((one_of("error.class", list(retry.on)), f"attempt - lost < {retry.attempts}"))


def _impossible(nature: _Nature) -> Iterator[Removal]:
    path = nature.facts.path
    if nature.idle:
        yield Removal("transition", f"{path}: pending -> ready", nature.idle, "DF302")
    if nature.folded:
        reason = "its guard is always true"
        for after in ("skipped(guard)", "failed"):
            yield Removal("transition", f"{path}: pending -> {after}", reason, "DF402")
