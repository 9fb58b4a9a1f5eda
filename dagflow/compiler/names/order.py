"""In which order steps are typed: each after those that its expressions speak of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from dagflow.compiler.names.mentions import mentions
from dagflow.compiler.names.resolve import Ground, Grounds, Site, Views, around
from dagflow.compiler.names.slots import bare, templated
from dagflow.core.node import Node, Scalar, Sequence
from dagflow.core.steps.foreach import Foreach
from dagflow.core.workflow import Step
from dagflow.expr import Problem, Segment, parse_template

_STEPS = frozenset({"steps"})


def typing_order(grounds: Grounds, views: Views) -> tuple[Site, ...]:
    """Return every step once, producers first; where steps read in a ring, in file order."""
    sites = {site.path: site for ground in grounds.values() for site in ground.sites.values()}
    needs = {path: _needs(grounds, views, site) for path, site in sites.items()}
    done: dict[str, None] = {}
    for path in sites:
        _visit(path, needs, done)
    return tuple(sites[path] for path in done)


def _visit(start: str, needs: Mapping[str, tuple[str, ...]], done: dict[str, None]) -> None:
    """Add `start` after all that it needs; iterative, since chains can be longer than a stack."""
    open_: dict[str, Iterator[str]] = {}
    if start not in done:
        open_[start] = iter(needs[start])
    while open_:
        path, rest = next(reversed(open_.items()))
        following = next((n for n in rest if n not in done and n not in open_), None)
        if following is None:
            done[path] = None
            del open_[path]
        else:
            open_[following] = iter(needs[following])


def _needs(grounds: Grounds, views: Views, site: Site) -> tuple[str, ...]:
    found = dict.fromkeys(_mentioned(views[site.block], _texts(site.step)))
    inner = grounds.get(site.path)
    if inner is not None and inner.composite is site:
        found.update(dict.fromkeys(s.path for s in inner.sites.values()))
    for ground in around(grounds, site.block):
        found.update(dict.fromkeys(_items(views, ground)))
    found.pop(site.path, None)
    return tuple(found)


def _items(views: Views, ground: Ground) -> Iterator[str]:
    """Yield what the list of a `foreach` speaks of: its item's type comes from there."""
    composite = ground.composite
    if composite is not None and isinstance(composite.step.body, Foreach):
        yield from _mentioned(views[composite.block], iter((composite.step.body.items.value,)))


def _mentioned(seen: Mapping[str, Site], texts: Iterator[str]) -> Iterator[str]:
    for text in texts:
        for mention in mentions(text, _STEPS):
            if mention.name is not None and mention.name in seen:
                yield seen[mention.name].path


def _texts(step: Step) -> Iterator[str]:
    for expression in bare(step):
        yield expression.text.value
    for template in templated(step):
        yield from _expressions(template.node)


def _expressions(node: Node) -> Iterator[str]:
    """Yield the text of every `${{ … }}` in a node; the prose around them is none of it."""
    if isinstance(node, Scalar):
        parts = parse_template(node.value) if isinstance(node.value, str) else ()
        if not isinstance(parts, Problem):
            yield from (part.text for part in parts if isinstance(part, Segment))
        return
    items = node.items if isinstance(node, Sequence) else tuple(v for _, v in node.entries)
    for item in items:
        yield from _expressions(item)
