"""A YAML document as a tree in which every node knows its place."""

from __future__ import annotations

from typing import Literal, TypeAlias

from dagflow.core.records import dataclass
from dagflow.core.source import Span
from dagflow.core.values import JsonValue

Style: TypeAlias = Literal["plain", "quoted", "block"]


@dataclass(frozen=True, slots=True)
class Scalar:
    """A string, number, boolean or null, as YAML 1.2's core schema reads it.

    `style` tells how a string was written: the text of a "plain" or "quoted" scalar on one line
    begins at `span` (one column later when quoted), so a place inside an expression can be
    mapped to a place in the file; a "block" scalar's text begins on the line after `span`.
    """

    value: str | int | float | bool | None
    span: Span
    style: Style = "plain"
    raw: str = ""


@dataclass(frozen=True, slots=True)
class Sequence:
    """A list."""

    items: tuple[Node, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Mapping:
    """A mapping; keys are strings, unique, and in the order of the file."""

    entries: tuple[tuple[Scalar, Node], ...]
    span: Span

    def get(self, name: str) -> Node | None:
        """Return the value under `name`, or None."""
        return next((value for key, value in self.entries if key.value == name), None)


Node: TypeAlias = Scalar | Sequence | Mapping


def plain(node: Node) -> JsonValue:
    """Return the node's value as plain dicts, lists and scalars."""
    if isinstance(node, Scalar):
        return node.value
    if isinstance(node, Sequence):
        return [plain(item) for item in node.items]
    return {str(key.value): plain(value) for key, value in node.entries}
