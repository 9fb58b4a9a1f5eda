"""Shapes that only the place of a step can tell to be wrong."""

from __future__ import annotations

from collections.abc import Iterator

from dagflow.compiler.names.resolve import Grounds, Site, around, grounds_of
from dagflow.compiler.violation import Violation
from dagflow.core.steps.foreach import Foreach
from dagflow.core.workflow import Workflow


def misshapen(workflow: Workflow) -> Iterator[Violation]:
    """Yield each `foreach` whose items have the name of those of a `foreach` around it."""
    grounds = grounds_of(workflow)
    for ground in grounds.values():
        for site in ground.sites.values():
            yield from _unnamed(site, grounds)


def _unnamed(site: Site, grounds: Grounds) -> Iterator[Violation]:
    body = site.step.body
    if not isinstance(body, Foreach):
        return
    outer = (g.composite.step for g in around(grounds, site.block) if g.composite is not None)
    taken = {_item(step.body): step.name.value for step in outer if isinstance(step.body, Foreach)}
    name = _item(body)
    if name in taken:
        yield Violation(
            span=body.as_.span if body.as_ is not None else site.step.name.span,
            message=f"the items of {site.step.name.value!r} and of {taken[name]!r} around it are"
            f" both called {name!r}",
            step=site.path,
            help="name one of them with `as`",
        )


def _item(body: Foreach) -> str:
    return body.as_.value if body.as_ is not None else "item"
