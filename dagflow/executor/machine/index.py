"""What the engine asks of a plan at every decision, found once and kept beside the plan."""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from dagflow.core.plan import Expression, Plan, PlanStep, Value, expressions_in
from dagflow.core.steps import KINDS
from dagflow.executor.machine.paths import name_of

BlockKind: TypeAlias = Literal["steps", "finally", "foreach", "repeat"]
Move: TypeAlias = tuple[str, str]
Reads: TypeAlias = tuple[tuple[str, ...], ...]

WIDE = 32
"""A step with more producers than this counts them in its record instead of looking at each."""

_LOOPS: Mapping[str, BlockKind] = {"foreach": "foreach", "repeat": "repeat"}


@dataclass(frozen=True, slots=True)
class Edge:
    """A control edge from the sibling `name`."""

    name: str
    on: frozenset[str]
    branches: frozenset[int]


@dataclass(slots=True, eq=False)
class Site:
    """A step where it stands: what it looks at, who looks at it, and the moves it may make.

    `edges`, `needs` and `awaits` name siblings; `outside` static paths of steps of other blocks
    that must have succeeded. `awaits` leaves out what an at_least join doesn't wait for, which is
    in `glimpses`. `of` is the step that a compensation undoes.
    """

    step: PlanStep
    pattern: str
    name: str
    block: Block
    moves: frozenset[Move]
    in_engine: bool
    edges: dict[str, Edge] = field(default_factory=dict)
    needs: dict[str, None] = field(default_factory=dict)
    awaits: dict[str, None] = field(default_factory=dict)
    glimpses: tuple[str, ...] = ()
    outside: tuple[str, ...] = ()
    width: int = 0
    dependents: list[Site] = field(default_factory=list)
    inner: Block | None = None
    compensate: Site | None = None
    of: Site | None = None

    @property
    def is_root(self) -> bool:
        """Tell whether the step waits for no other one of its block."""
        return self.width == 0


@dataclass(slots=True, eq=False)
class Block:
    """One scope of steps. `owner` is the composite around it; None for the top and `finally`.

    `compensated` tells whether some step in it, at any depth, has a compensation.
    """

    kind: BlockKind
    owner: Site | None
    sites: dict[str, Site] = field(default_factory=dict)
    roots: tuple[Site, ...] = ()
    compensated: bool = False

    @property
    def size(self) -> int:
        """Return how many steps it has."""
        return len(self.sites)


class PlanIndex:
    """A plan's steps by run path pattern, and its blocks. It does not hold the plan itself."""

    def __init__(self, plan: Plan) -> None:
        self.sites: dict[str, Site] = {}
        self.signals: dict[str, list[Site]] = {}
        self.compensated = False
        self._fused = {path: (chain, n) for chain in plan.fused for n, path in enumerate(chain, 1)}
        self._moves = _moves_of(plan)
        self._reads: dict[int, tuple[object, Reads]] = {}
        self.top = self._block("steps", None, "", plan.steps)
        self.final = self._block("finally", None, "", plan.finally_)
        del self._moves

    def reads_of(self, value: Expression | Value) -> Reads:
        """Return every path that an expression or a template reads."""
        known = self._reads.get(id(value))
        if known is None:
            reads = value.reads if isinstance(value, Expression) else tuple(_reads_in(value))
            known = self._reads[id(value)] = (value, reads)
        return known[1]

    def behind(self, path: str) -> Iterator[str]:
        """Yield the names of the steps that follow a step (by its static path) in its chain."""
        chain, place = self._fused.get(path, ((), 0))
        return (name_of(chain[n]) for n in range(place, len(chain)))

    def is_fused(self, path: str) -> bool:
        """Tell whether a step (by its static path) is followed by another in a chain."""
        chain, place = self._fused.get(path, ((), 0))
        return place < len(chain)

    def _block(
        self, kind: BlockKind, owner: Site | None, prefix: str, steps: Iterable[PlanStep]
    ) -> Block:
        block = Block(kind, owner)
        by_path: dict[str, Site] = {}
        for step in steps:
            site = self._site(step, block, prefix + name_of(step.path))
            by_path[step.path] = block.sites[site.name] = site
        for site in block.sites.values():
            _connect(site, by_path)
        block.compensated = any(_has_compensation(site) for site in block.sites.values())
        block.roots = tuple(site for site in block.sites.values() if site.is_root)
        return block

    def _site(self, step: PlanStep, block: Block, pattern: str) -> Site:
        site = Site(
            step=step,
            pattern=pattern,
            name=name_of(pattern),
            block=block,
            moves=frozenset(self._moves.get(step.path, ())),
            in_engine=KINDS[step.kind].in_engine,
        )
        self.sites[pattern] = site
        if step.kind == "wait" and step.body.get("signal") is not None:
            self.signals.setdefault(str(step.body["signal"]), []).append(site)
        if step.kind in _LOOPS:
            site.inner = self._block(_LOOPS[step.kind], site, f"{pattern}[].", step.block)
        if step.compensate is not None:
            self.compensated = True
            undo = self._site(step.compensate, block, f"{pattern}.compensate")
            undo.of, site.compensate = site, undo
        return site


def _has_compensation(site: Site) -> bool:
    return site.compensate is not None or (site.inner is not None and site.inner.compensated)


def _moves_of(plan: Plan) -> Mapping[str, set[Move]]:
    moves: dict[str, set[Move]] = {}
    for constraint in plan.constraints:
        moves.setdefault(constraint.step, set()).add((constraint.before, constraint.after))
    return moves


def _connect(site: Site, by_path: Mapping[str, Site]) -> None:
    """Set what a step looks at, and enter it with each of those."""
    step = site.step
    for edge in step.after:
        if edge.step in by_path:
            name = by_path[edge.step].name
            site.edges[name] = Edge(name, frozenset(edge.on), frozenset(edge.branches))
    site.needs = dict.fromkeys(by_path[path].name for path in step.needs if path in by_path)
    site.outside = tuple(path for path in step.needs if path not in by_path)
    awaits = dict.fromkeys(by_path[path].name for path in step.awaits if path in by_path)
    control = site.edges if step.join.mode == "at_least" else {}
    seen_only = {name for name in awaits if name in control and name not in site.needs}
    site.awaits = {name: None for name in awaits if name not in seen_only}
    site.glimpses = tuple(name for name in awaits if name in seen_only)
    producers = {**dict.fromkeys(site.edges), **site.needs, **site.awaits}
    site.width = len(producers)
    for name in producers:
        site.block.sites[name].dependents.append(site)


def _reads_in(value: Value) -> Iterator[tuple[str, ...]]:
    for expression in expressions_in(value):
        yield from expression.reads


_indices: dict[int, PlanIndex] = {}
"""By the `id` of the plan: to hash or compare a whole plan would cost more than the index."""


def index_of(plan: Plan) -> PlanIndex:
    """Return the plan's index, made at the first call for this very object, and kept as long."""
    key = id(plan)
    found = _indices.get(key)
    if found is None:
        found = _indices[key] = PlanIndex(plan)
        weakref.finalize(plan, _indices.pop, key, None).atexit = False
    return found
