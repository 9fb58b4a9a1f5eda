"""In which order steps are typed: each after those that its expressions speak of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from dagflow.compiler.memory import Memory
from dagflow.compiler.names.mentions import mentions_in
from dagflow.compiler.names.resolve import Ground, Grounds, Site, Views, around
from dagflow.compiler.names.scopes import roots_of
from dagflow.compiler.names.slots import bare, templated
from dagflow.core.node import Node, Scalar, Sequence
from dagflow.core.records import dataclass
from dagflow.core.steps.foreach import Foreach
from dagflow.core.workflow import Step
from dagflow.expr import Problem, Segment, parse_template


@dataclass(frozen=True, slots=True, kw_only=True)
class _Names:
    """What tells which steps a step speaks of: all blocks, and what each can see by name."""

    grounds: Grounds
    views: Views
    roots: Mapping[str, frozenset[str]]
    memory: Memory

    def needs(self, site: Site) -> Iterator[str]:
        """Yield the steps to be typed before this one."""
        yield from self._mentioned(site.block, _texts(site.step))
        inner = self.grounds.get(site.path)
        if inner is not None and inner.composite is site:
            yield from (other.path for other in inner.sites.values())
        for ground in around(self.grounds, site.block):
            yield from self._items(ground)

    def _items(self, ground: Ground) -> Iterator[str]:
        """Yield what the list of a `foreach` speaks of: its item's type comes from there."""
        composite = ground.composite
        if composite is not None and isinstance(composite.step.body, Foreach):
            yield from self._mentioned(composite.block, (composite.step.body.items.value,))

    def _mentioned(self, block: str, texts: Iterable[str]) -> Iterator[str]:
        seen, roots = self.views[block], self.roots[block]
        for text in texts:
            for mention in mentions_in(text, roots, self.memory):
                name = mention.name
                if mention.root == "steps" and name is not None and name in seen:
                    yield seen[name].path


def typing_order(grounds: Grounds, views: Views, memory: Memory) -> Iterator[Site]:
    """Yield every step once, producers first; where steps read in a ring, in file order.

    A step is looked at just before it is yielded, while its texts' tokens are still at hand.
    """
    sites = {site.path: site for ground in grounds.values() for site in ground.sites.values()}
    roots = {block: roots_of(grounds, block) for block in grounds}
    names = _Names(grounds=grounds, views=views, roots=roots, memory=memory)
    done: set[str] = set()
    for path in sites:
        yield from _visit(path, sites, names, done)


def _visit(start: str, sites: Mapping[str, Site], names: _Names, done: set[str]) -> Iterator[Site]:
    """Yield `start` after all that it needs; iterative, since chains can be longer than a stack."""
    if start in done:
        return
    open_: dict[str, Iterator[str]] = {start: names.needs(sites[start])}
    while open_:
        path, rest = next(reversed(open_.items()))
        following = next((n for n in rest if n not in done and n not in open_), None)
        if following is None:
            done.add(path)
            del open_[path]
            yield sites[path]
        else:
            open_[following] = names.needs(sites[following])


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
