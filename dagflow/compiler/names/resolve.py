"""Where every step stands and which names it can see."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field

from dagflow.compiler.model import BlockKind
from dagflow.core.records import dataclass
from dagflow.core.steps.foreach import Foreach
from dagflow.core.steps.repeat import Repeat
from dagflow.core.steps.workflow import SubWorkflow
from dagflow.core.workflow import Step, Workflow


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """A step with its static path and the block it stands in."""

    step: Step
    path: str
    block: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """A block of steps before anything is known of their types.

    `composite` is the step whose block it is, None for the top and `finally`.
    """

    path: str
    kind: BlockKind
    parent: str | None
    sites: Mapping[str, Site] = field(default_factory=dict)
    composite: Site | None = None


Grounds = Mapping[str, Ground]


def grounds_of(workflow: Workflow) -> Grounds:
    """Return every block by path: the top, the composites' in the order of the file, `finally`."""
    found: dict[str, Ground] = {}
    _walk(found, workflow.steps, _Frame("", "steps", None, None))
    _walk(found, workflow.finally_, _Frame("finally", "finally", None, None))
    return found


@dataclass(frozen=True, slots=True)
class _Frame:
    path: str
    kind: BlockKind
    parent: str | None
    composite: Site | None

    def site(self, step: Step) -> Site:
        name = step.name.value
        nested = self.kind in {"foreach", "repeat"}
        path = f"{self.path}.{name}" if nested else name
        return Site(step=step, path=path, block=self.path)


def _walk(found: dict[str, Ground], steps: tuple[Step, ...], frame: _Frame) -> None:
    sites = {step.name.value: frame.site(step) for step in steps}
    found[frame.path] = Ground(
        path=frame.path,
        kind=frame.kind,
        parent=frame.parent,
        sites=sites,
        composite=frame.composite,
    )
    for site in sites.values():
        body = site.step.body
        if isinstance(body, Foreach | Repeat):
            kind: BlockKind = "foreach" if isinstance(body, Foreach) else "repeat"
            _walk(found, body.steps, _Frame(site.path, kind, frame.path, site))


def around(grounds: Grounds, block: str) -> Iterator[Ground]:
    """Yield the block and the blocks around it, from the inside out."""
    path: str | None = block
    while path is not None:
        yield grounds[path]
        path = grounds[path].parent


class Others(Mapping[str, Site]):
    """The steps in view but for one. A copy would cost as much as there are steps in view."""

    __slots__ = ("_all", "_hidden")

    def __init__(self, every: Mapping[str, Site], hidden: str) -> None:
        self._all, self._hidden = every, hidden

    def __getitem__(self, name: str) -> Site:
        if name == self._hidden:
            raise KeyError(name)
        return self._all[name]

    def __contains__(self, name: object) -> bool:
        return name != self._hidden and name in self._all

    def __iter__(self) -> Iterator[str]:
        return (name for name in self._all if name != self._hidden)

    def __len__(self) -> int:
        return len(self._all) - (self._hidden in self._all)


Views = Mapping[str, Mapping[str, Site]]


def views_of(grounds: Grounds) -> Views:
    """Return for each block what its expressions can read by name."""
    return {block: visible(grounds, block) for block in grounds}


def visible(grounds: Grounds, block: str) -> Mapping[str, Site]:
    """Return the steps that expressions of a block can read by name, inner ones first.

    A composite's steps can't see the composite: it is decided after them.
    """
    found: dict[str, Site] = {}
    hidden: set[str] = set()
    for ground in around(grounds, block):
        for name, site in ground.sites.items():
            if site.path not in hidden:
                found.setdefault(name, site)
        if ground.composite is not None:
            hidden.add(ground.composite.path)
    if block == "finally" or _is_in_finally(grounds, block):
        for name, site in grounds[""].sites.items():
            found.setdefault(name, site)
    return found


def _is_in_finally(grounds: Grounds, block: str) -> bool:
    return any(ground.kind == "finally" for ground in around(grounds, block))


def everywhere(grounds: Grounds, name: str) -> tuple[Site, ...]:
    """Return every step of that name, in any block."""
    return tuple(g.sites[name] for g in grounds.values() if name in g.sites)


def child_key(body: object) -> str:
    """Return the key of a `workflow` step's child in `children`: its file, or `name@version`."""
    if not isinstance(body, SubWorkflow):
        return ""
    if body.file is not None:
        return body.file.value
    name = body.name.value if body.name else ""
    return f"{name}@{body.version.value}" if body.version else name


def children_of(workflow: Workflow) -> tuple[str, ...]:
    """Return the keys of every child that a workflow's steps call, in the order of the file."""
    found = (
        child_key(step.body)
        for ground in grounds_of(workflow).values()
        for site in ground.sites.values()
        for step in (site.step, site.step.compensate)
        if step is not None
    )
    return tuple(dict.fromkeys(key for key in found if key))
