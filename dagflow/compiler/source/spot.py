"""Where the parser is: what it reads, how messages call it, and where findings go."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Set as AbstractSet
from dataclasses import field
from typing import Final, NamedTuple

from dagflow.compiler.source.problems import SHAPE, STRICT, Problems
from dagflow.core.findings import Fix, Related
from dagflow.core.node import Node
from dagflow.core.pointers import under
from dagflow.core.records import dataclass
from dagflow.core.source import Span
from dagflow.core.workflow import Step


class Bad:
    """What a reader returns for a value it could not read; the finding has been added."""


BAD: Final = Bad()


@dataclass(frozen=True, slots=True)
class Level:
    """One enclosing mapping: how messages call it, and the keys it may have."""

    label: str
    keys: AbstractSet[str]


@dataclass(frozen=True, slots=True)
class Context:
    """What is the same all through one file. `broken` gathers static paths of steps."""

    problems: Problems
    steps: Callable[[Node, Spot], tuple[Step, ...] | Bad]
    broken: set[str] = field(default_factory=set)


class Spot(NamedTuple):
    """The place of one value.

    `label` is its key, for messages; `span` where that key is; `doc` what it is for; `above` the
    enclosing mappings from the outside in; `path` the static path of the step it belongs to, and
    `names` the names of steps that are in scope, each with its place; `noun` goes before the label
    in messages.
    """

    context: Context
    pointer: str
    label: str
    span: Span
    doc: str = ""
    above: tuple[Level, ...] = ()
    path: str = ""
    names: tuple[tuple[str, Span], ...] = ()
    noun: str = ""

    @property
    def subject(self) -> str:
        """Return how messages call what stands here."""
        if not self.label:
            return self.noun or "the workflow"
        return f"{self.noun} `{self.label}`" if self.noun else f"`{self.label}`"

    def about(self, doc: str) -> Spot:
        """Return the same place with other words for what it is for."""
        return self._replace(doc=doc)

    def child(self, key: object, label: str, span: Span, doc: str = "") -> Spot:
        """Return the place of the value under `key`."""
        return Spot(
            self.context, under(self.pointer, key), label, span, doc, self.above, self.path,
            self.names,
        )  # fmt: skip

    def inside(self, level: Level) -> Spot:
        """Return the same place with one more enclosing mapping."""
        return self._replace(above=(*self.above, level))

    def step(self, path: str, names: tuple[tuple[str, Span], ...], noun: str = "") -> Spot:
        """Return the same place as part of a step."""
        return self._replace(path=path, names=names, noun=noun)

    def bad(
        self,
        message: str,
        span: Span,
        help: str = "",  # noqa: A002  # the finding's own word
        *,
        related: tuple[Related, ...] = (),
        fixes: tuple[Fix, ...] = (),
        strict: bool = False,
    ) -> Bad:
        """Add an error here and return `BAD`."""
        code = STRICT if strict else SHAPE
        self.context.problems.add(
            code, message, span, self.pointer, help=help, related=related, fixes=fixes
        )
        return BAD
