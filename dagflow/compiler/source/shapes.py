"""Reads a value of each shape; what is not of the shape becomes a finding and `BAD`."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, Final

from dagflow.compiler.source import units
from dagflow.compiler.source.names import Twins, name_of
from dagflow.compiler.source.problems import listed
from dagflow.compiler.source.records import read_record
from dagflow.compiler.source.schemas import read_fields, read_schema
from dagflow.compiler.source.spot import BAD, Bad, Spot
from dagflow.compiler.source.wording import FORMS, expected, found
from dagflow.core.findings import Edit, Fix
from dagflow.core.node import Mapping, Node, Scalar, Sequence
from dagflow.core.shape import (
    Alone,
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
    Table,
    Template,
)
from dagflow.core.source import At, Span
from dagflow.core.words import closest

MAX_EXPRESSION: Final = 4096
BOOLEAN_WORDS: Final = {
    "yes": "true",
    "on": "true",
    "y": "true",
    "no": "false",
    "off": "false",
    "n": "false",
}


def read(shape: Shape, node: Node, spot: Spot) -> Any:
    """Return what `core.shape` promises for the shape, or `BAD`."""
    return READERS[type(shape)](shape, node, spot)


def wrong(shape: Shape, node: Node, spot: Spot, hint: str = "") -> Bad:
    """Add the finding that a value is of another kind than its place takes."""
    what, example = expected(shape)
    plain_key = spot.label.isidentifier()
    sample = f"for example `{spot.label}: {example}`" if example and plain_key else ""
    remedy = "; ".join(part for part in (spot.doc, sample) if part)
    if isinstance(node, Scalar) and node.value is None and not node.raw:
        span = spot.span if spot.span != node.span else node.span
        return spot.bad(f"`{spot.label}` has no value; it takes {what}", span, remedy)
    suffix = f"; did you mean `{hint}`?" if hint else ""
    fixes = _replaced(node.span, hint) if hint else ()
    return spot.bad(
        f"`{spot.label}` takes {what}, not {found(node)}{suffix}", node.span, remedy, fixes=fixes
    )


def _replaced(span: Span, text: str) -> tuple[Fix, ...]:
    return (Fix(f"write `{text}`", (Edit(span, text),)),)


def _text(shape: Str, node: Node, spot: Spot) -> At[str] | Bad:
    if not isinstance(node, Scalar) or not isinstance(node.value, str):
        scalar = isinstance(node, Scalar) and node.value is not None
        return wrong(shape, node, spot, f'"{node.raw}"' if scalar else "")  # type: ignore[union-attr]  # a Scalar
    if len(node.value) > shape.max_length:
        said = f"`{spot.label}` has {len(node.value):,} characters, and {shape.max_length:,} are"
        return spot.bad(f"{said} allowed", node.span, spot.doc)
    if shape.pattern and not re.fullmatch(shape.pattern, node.value):
        return spot.bad(f"`{spot.label}` can't be {node.value!r}", node.span, f"write {spot.doc}")
    return At(node.value, node.span)


def _name(shape: Name, node: Node, spot: Spot) -> At[str] | Bad:
    if not isinstance(node, Scalar) or not isinstance(node.value, str):
        return wrong(shape, node, spot)
    return name_of(node, spot)


def _choice(shape: Choice, node: Node, spot: Spot) -> At[str] | Bad:
    text = node.value if isinstance(node, Scalar) else None
    if isinstance(text, str) and text in shape.values:
        return At(text, node.span)
    if not isinstance(text, str):
        return wrong(shape, node, spot)
    hint = closest(text, shape.values)
    suffix = f"; did you mean `{hint}`?" if hint else ""
    return spot.bad(
        f"`{spot.label}` can't be `{text}`{suffix}",
        node.span,
        f"it is one of {listed(shape.values)}",
        fixes=_replaced(node.span, hint) if hint else (),
    )


def _expression(shape: Cel, node: Node, spot: Spot) -> At[str] | Bad:
    if not isinstance(node, Scalar) or (node.value is None and node.raw != "null"):
        return wrong(shape, node, spot)
    text = node.value if isinstance(node.value, str) else json.dumps(node.value)
    if not text.strip():
        return wrong(shape, node, spot)
    if len(text.encode()) > MAX_EXPRESSION:
        said = (
            f"the expression has {len(text.encode()):,} bytes, and {MAX_EXPRESSION:,} are allowed"
        )
        return spot.bad(said, node.span, "split it over several transform steps")
    if text.strip().startswith("${{") and text.strip().endswith("}}"):
        inner = text.strip()[3:-2].strip()
        return spot.bad(
            f"`{spot.label}` is an expression already and takes no `${{{{ }}}}`",
            node.span,
            f"write `{inner}`",
        )
    return At(text, node.span)


def _boolean(shape: Bool, node: Node, spot: Spot) -> At[bool] | Bad:
    if isinstance(node, Scalar) and isinstance(node.value, bool):
        return At(node.value, node.span)
    word = node.value if isinstance(node, Scalar) and isinstance(node.value, str) else ""
    return wrong(shape, node, spot, BOOLEAN_WORDS.get(word.lower(), ""))


def _integer(shape: Int, node: Node, spot: Spot) -> At[int] | Bad:
    value = node.value if isinstance(node, Scalar) else None
    if type(value) is not int:
        return wrong(shape, node, spot)
    if shape.minimum <= value <= shape.maximum:
        return At(value, node.span)
    return _out_of_bounds(shape, node, spot)


def _number(shape: Number, node: Node, spot: Spot) -> At[float] | Bad:
    value = node.value if isinstance(node, Scalar) else None
    if type(value) not in {int, float}:
        return wrong(shape, node, spot)
    assert isinstance(value, int | float)
    if shape.minimum <= value <= shape.maximum:
        return At(float(value), node.span)
    return _out_of_bounds(shape, node, spot)


def _out_of_bounds(shape: Int | Number, node: Node, spot: Spot) -> Bad:
    return spot.bad(
        f"`{spot.label}` takes {expected(shape)[0]}, not {found(node)}", node.span, spot.doc
    )


def _duration(shape: Duration, node: Node, spot: Spot) -> Any:
    if isinstance(node, Scalar) and type(node.value) in {int, float}:
        hint = f"{node.raw}s"
        said = f"`{spot.label}` has no unit: {node.raw}; did you mean `{hint}`?"
        remedy = f"it is written like {FORMS[Duration]}"
        return spot.bad(said, node.span, remedy, fixes=_replaced(node.span, hint))
    return _united(shape, units.duration, node, spot)


def _size(shape: Size, node: Node, spot: Spot) -> Any:
    if isinstance(node, Scalar) and type(node.value) is int and node.value >= 0:
        return At(node.value, node.span)
    return _united(shape, units.size, node, spot)


def _rate(shape: Rate, node: Node, spot: Spot) -> Any:
    return _united(shape, units.rate, node, spot)


def _united(
    shape: Size | Rate | Duration, convert: Callable[[str], Any], node: Node, spot: Spot
) -> Any:
    if not isinstance(node, Scalar) or not isinstance(node.value, str):
        return wrong(shape, node, spot)
    try:
        return At(convert(node.value), node.span)
    except units.UnitError as error:
        suffix = f"; did you mean `{error.hint}`?" if error.hint else ""
        return spot.bad(
            f"`{spot.label}`: {error}{suffix}",
            node.span,
            f"it is written like {FORMS[type(shape)]}",
            fixes=_replaced(node.span, error.hint) if error.hint else (),
        )


def _template(shape: Template, node: Node, spot: Spot) -> Node | Bad:
    if not shape.text:
        return node
    if isinstance(node, Scalar) and isinstance(node.value, str):
        return node
    scalar = isinstance(node, Scalar) and node.value is not None
    return wrong(shape, node, spot, f'"{node.raw}"' if scalar else "")  # type: ignore[union-attr]  # a Scalar


def _schema(_shape: SchemaOf, node: Node, spot: Spot) -> Any:
    return read_schema(node, spot)


def _fields(shape: FieldsOf, node: Node, spot: Spot) -> Any:
    return read_fields(node, spot, whole=shape.whole)


def _steps(_shape: StepsOf, node: Node, spot: Spot) -> Any:
    return spot.context.steps(node, spot)


def _list(shape: ListOf, node: Node, spot: Spot) -> tuple[Any, ...] | Bad:
    if not isinstance(node, Sequence):
        if not shape.single or (isinstance(node, Scalar) and node.value is None):
            return wrong(shape, node, spot)
        alone = read(shape.item, node, spot)
        return BAD if alone is BAD else Alone((alone,))
    if len(node.items) < shape.minimum:
        return spot.bad(f"`{spot.label}` is an empty list", node.span, spot.doc)
    values = [
        read(shape.item, item, spot.child(index, spot.label, item.span, spot.doc))
        for index, item in enumerate(node.items)
    ]
    return BAD if any(value is BAD for value in values) else tuple(values)


def _map(shape: MapOf, node: Node, spot: Spot) -> Table[Any] | Bad:
    if not isinstance(node, Mapping):
        return wrong(shape, node, spot)
    twins = Twins()
    entries: list[tuple[At[str], Any]] = []
    for key, value in node.entries:
        inner = spot.child(key.value, str(key.value), key.span, spot.doc)
        name = At(str(key.value), key.span) if shape.free else name_of(key, inner)
        item = read(shape.value, value, inner)
        if isinstance(name, Bad) or not twins.admits(name.value, name.span, inner, spot.label):
            continue
        if item is not BAD:
            entries.append((name, item))
    return Table(tuple(entries))


def _record(shape: Record, node: Node, spot: Spot) -> Any:
    return read_record(
        shape.cls, shape.shorthand, node, spot, read, wrong=lambda: wrong(shape, node, spot)
    )


def _any_of(shape: AnyOf, node: Node, spot: Spot) -> Any:
    """Read by the alternative that takes this kind of YAML node."""
    wanted = (Record,) if isinstance(node, Mapping) else (Choice, Name, Str, Cel)
    option = next((it for it in shape.options if isinstance(it, wanted)), None)
    if option is None or isinstance(node, Sequence):
        return wrong(shape, node, spot)
    if isinstance(option, Choice) and not (
        isinstance(node, Scalar) and isinstance(node.value, str)
    ):
        return wrong(shape, node, spot)
    return read(option, node, spot)


READERS: Final[dict[type[Any], Callable[[Any, Node, Spot], Any]]] = {
    Str: _text, Name: _name, Choice: _choice, Cel: _expression, Bool: _boolean, Int: _integer,
    Number: _number, Duration: _duration, Size: _size, Rate: _rate, Template: _template,
    SchemaOf: _schema, FieldsOf: _fields, StepsOf: _steps, ListOf: _list, MapOf: _map,
    Record: _record, AnyOf: _any_of,
}  # fmt: skip
