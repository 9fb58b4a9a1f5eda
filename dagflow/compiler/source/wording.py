"""How messages call what was found and what was expected."""

from __future__ import annotations

from typing import Any, Final

from dagflow.compiler.source.problems import listed
from dagflow.core.node import Mapping, Node, Scalar
from dagflow.core.shape import (
    AnyOf,
    Bool,
    Cel,
    Choice,
    Duration,
    FieldsOf,
    Int,
    ListOf,
    MapOf,
    Name,
    Number,
    Rate,
    Record,
    SchemaOf,
    Shape,
    Size,
    StepsOf,
    Str,
    Template,
    slots,
)

LONG: Final = 40
INT_MAX: Final = 2**63 - 1
NUMBER_MAX: Final = 1e18

FORMS: Final = {
    Duration: "200ms, 5s, 10m, 2h, 1d or 1h30m",
    Size: "128MiB, 1.5GB or 4096",
    Rate: "10MB/s or 512KiB/s",
}
WORDS: Final[dict[type[Any], tuple[str, str]]] = {
    Str: ("text", '"some text"'),
    Name: ("a name", "fetch"),
    Cel: ("an expression", "inputs.count > 3"),
    Bool: ("true or false", "true"),
    Duration: ("a duration", "30s"),
    Size: ("a size in bytes", "128MiB"),
    Rate: ("a rate in bytes a second", "10MB/s"),
    SchemaOf: ("a type", "string"),
    FieldsOf: ("a mapping of names to types", "{ticket: string, count: integer}"),
    StepsOf: ("a mapping of names to steps", "{first: {transform: inputs.x}}"),
    MapOf: ("a mapping", "{name: value}"),
}


def found(node: Node) -> str:
    """Say what stands in the file."""
    if isinstance(node, Scalar):
        return _scalar(node)
    return "a mapping" if isinstance(node, Mapping) else "a list"


def _scalar(node: Scalar) -> str:
    if node.value is None:
        return "nothing" if not node.raw else "null"
    if isinstance(node.value, bool):
        return "true" if node.value else "false"
    if isinstance(node.value, str):
        short = node.value if len(node.value) <= LONG else f"{node.value[:LONG]}…"
        return f"the text {short!r}"
    return f"the number {node.raw[:LONG] or node.value}"


def expected(shape: Shape) -> tuple[str, str]:
    """Return what a shape takes, and an example of it ("" where words are enough)."""
    match shape:
        case Choice(values):
            return listed(values), ""
        case Int(minimum, maximum) if minimum == maximum:
            return f"only {minimum}", ""
        case Int(minimum, maximum):
            return f"an integer{_bounds(minimum, maximum, INT_MAX)}", "3"
        case Number(minimum, maximum):
            return f"a number{_bounds(minimum, maximum, NUMBER_MAX)}", "0.5"
        case Template(text=True):
            return "text", '"some text"'
        case ListOf(item):
            what, example = expected(item)
            return f"a list ({what} each)", f"[{example}]" if example else ""
        case Record(cls, shorthand):
            return _record(cls, shorthand)
        case AnyOf(options):
            return " or ".join(expected(option)[0] for option in options), ""
        case _:
            return WORDS[type(shape)]


def _record(cls: type[Any], shorthand: str) -> tuple[str, str]:
    known = tuple(slots(cls))
    keys = listed([slot.key for slot in known], "and")
    alone = next((slot for slot in known if shorthand in {slot.attribute, slot.key}), None)
    if alone is None:
        return f"a mapping with {keys}", ""
    what, example = expected(alone.shape)
    return f"{what}, or a mapping with {keys}", example


def _bounds(minimum: float, maximum: float, top: float) -> str:
    if maximum >= top:
        return f" from {minimum:,}" if minimum else ""
    return f" from {minimum:,} to {maximum:,}"
