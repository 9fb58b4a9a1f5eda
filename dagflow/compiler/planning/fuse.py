"""Chains of steps that one worker does one after another, and reports together.

A chain has one way in and one way out: each step waits for and reads steps of the chain only, the
last before it among them, and nobody else of the block waits for or reads any but the last. The
steps are pure, or run in equal cages without network, so that doing some of them again after a
crash changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from dagflow.compiler.defaults import limits_of, retry_of, timeout_of
from dagflow.compiler.graph.build import BlockGraph, Graphs
from dagflow.compiler.model import Model, StepFacts
from dagflow.compiler.proofs.reach import Reach
from dagflow.core.plan import Limits
from dagflow.core.records import dataclass

LEAST_TIMEOUT: Final = 10.0
"""Seconds. A step with a shorter timeout reports by itself: `HELD_BACK` must not count in it."""

LONGEST: Final = 256
"""Steps of one chain; what is longer is several chains, and found in linear time."""

_CAGED: Final = frozenset({"python", "shell"})
_MEMBERS: Final = _CAGED | {"transform", "switch"}


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a step is done; `cage` is None for what needs none and goes with any."""

    cage: Limits | None
    queue: str | None
    priority: int | None


def fused(model: Model, graphs: Graphs, reach: Reach) -> tuple[tuple[str, ...], ...]:
    """Return the chains of every block, by their first steps in the order of the file."""
    return tuple(
        chain for block in graphs.blocks.values() for chain in _chains(model, graphs, block, reach)
    )


def _chains(
    model: Model, graphs: Graphs, block: BlockGraph, reach: Reach
) -> Iterator[tuple[str, ...]]:
    places = {
        step: place
        for step in block.steps
        if reach.runs(step) and (place := _place(model, graphs.facts[step])) is not None
    }
    before = block.before()
    after: dict[str, list[str]] = {step: [] for step in block.steps}
    for step, sources in before.items():
        for source in sources:
            after[source].append(step)
    used: set[str] = set()
    found: dict[str, tuple[str, ...]] = {}
    for step in block.order:
        if step in places and step not in used:
            chain = _worked(_one_way_out(_grown(step, places, before, after, block), after), graphs)
            used.update(chain)
            if len(chain) > 1:
                found[chain[0]] = chain
    yield from (found[step] for step in block.steps if step in found)


def _grown(
    step: str,
    places: Mapping[str, _Place],
    before: Mapping[str, list[str]],
    after: Mapping[str, list[str]],
    block: BlockGraph,
) -> list[str]:
    """Return the longest chain from a step in which each waits for the last one before it."""
    chain, inside, here = [step], {step}, places[step]
    while len(chain) < LONGEST:
        ways = [to for to in after[chain[-1]] if inside.issuperset(before[to])]
        if len(ways) != 1:  # of two, one would never be of the chain
            break
        following = ways[0]
        if following not in places or block.join(following).mode != "all":
            break
        if not _fits(here, places[following]):
            break
        chain.append(following)
        inside.add(following)
        here = _together(here, places[following])
    return chain


def _one_way_out(chain: list[str], after: Mapping[str, list[str]]) -> list[str]:
    """Return the longest beginning of a chain whose last step alone leads out of it."""
    place = {step: index for index, step in enumerate(chain)}
    end = len(chain)
    while end > 1:
        early = (
            i for i in range(end - 1) if any(place.get(t, end) >= end for t in after[chain[i]])
        )
        leak = next(early, None)
        if leak is None:
            break
        end = leak + 1
    return chain[:end]


def _worked(chain: list[str], graphs: Graphs) -> tuple[str, ...]:
    """Return a chain from the first to the last step that a worker does; switches need none."""
    work = [i for i, step in enumerate(chain) if graphs.facts[step].kind != "switch"]
    return tuple(chain[work[0] : work[-1] + 1]) if len(work) > 1 else tuple(chain[:1])


def _place(model: Model, facts: StepFacts) -> _Place | None:
    """Return where a step of a chain is done, or None where it is done by itself.

    A step that may be tried again, whose failure is handled, that has a bound or a compensation
    of its own keeps its own dispatch: what it does is told as soon as it has done it.
    """
    written, workflow = facts.step, model.workflow
    own = (written.deadline, written.compensate, written.cache, *written.on_error)
    if facts.kind not in _MEMBERS or facts.effects == "once" or any(it is not None for it in own):
        return None
    if retry_of(written, workflow).attempts > 1:
        return None
    timeout = timeout_of(written, workflow)
    if timeout is not None and timeout < LEAST_TIMEOUT:
        return None
    if facts.kind == "switch":
        return _Place(None, None, None)
    caged = facts.kind in _CAGED
    if caged and written.body.network is not None and written.body.network.value:
        return None
    return _Place(
        cage=limits_of(written, workflow) if caged else None,
        queue=written.queue.value if written.queue else "",
        priority=written.priority.value if written.priority else -1,
    )


def _fits(here: _Place, there: _Place) -> bool:
    pairs: Iterable[tuple[object, object]] = (
        (here.cage, there.cage),
        (here.queue, there.queue),
        (here.priority, there.priority),
    )
    return all(one is None or two is None or one == two for one, two in pairs)


def _together(here: _Place, there: _Place) -> _Place:
    return _Place(
        cage=here.cage or there.cage,
        queue=there.queue if here.queue is None else here.queue,
        priority=there.priority if here.priority is None else here.priority,
    )
