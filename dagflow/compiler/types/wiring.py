"""Whether what a template gives is what its consumer takes, told piece by piece."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Literal

from dagflow.compiler.model import Typed
from dagflow.compiler.types.assignable import assignable
from dagflow.compiler.types.excess import excess, is_unsaid
from dagflow.compiler.types.words import describe
from dagflow.core.node import Mapping as MappingNode
from dagflow.core.node import Sequence as SequenceNode
from dagflow.core.records import dataclass
from dagflow.core.source import Span
from dagflow.core.values import JsonObject, JsonValue, Schema
from dagflow.core.words import nearest
from dagflow.expr import misfit, witness
from dagflow.expr.ast import Node as ExpressionNode
from dagflow.expr.types import resolve

_OBJECT_KEYS: Final = frozenset(
    {
        "type", "properties", "required", "additionalProperties", "title", "description",
        "$defs", "default", "examples", "deprecated", "example", "readOnly", "writeOnly",
    }
)  # fmt: skip
_LIST_KEYS: Final = frozenset(
    {"type", "items", "minItems", "maxItems", "title", "description", "$defs", "default"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mismatch:
    """One piece that does not fit; below "error", one that only a run can tell about.

    `witness` is a value that shows it: `{"value": …}`. `about` is an expression that is true of
    what does not fit, where there is one: a guard may exclude it.
    """

    span: Span
    message: str
    level: Literal["error", "warning", "note"] = "error"
    help: str = ""
    witness: JsonValue = None
    about: ExpressionNode | None = None


def wire(typed: Typed, wanted: Schema, what: str = "") -> Iterator[Mismatch]:
    """Yield what does not fit; `what` names the value in messages ("path.id")."""
    yield from _wire(typed, wanted, wanted, what)


def _wire(typed: Typed, wanted: Schema, root: Schema, what: str) -> Iterator[Mismatch]:
    wanted, _ = resolve(wanted, root)
    if wanted is True:
        return
    if isinstance(wanted, dict):
        if isinstance(typed.node, MappingNode) and _is_plain(wanted, "object", _OBJECT_KEYS):
            yield from _object(typed, wanted, root, what)
            return
        if isinstance(typed.node, SequenceNode) and _is_plain(wanted, "array", _LIST_KEYS):
            yield from _list(typed, wanted, root, what)
            return
    yield from _leaf(typed, wanted, root, what)


def _is_plain(wanted: JsonObject, kind: str, keys: frozenset[str]) -> bool:
    return wanted.get("type") == kind and wanted.keys() <= keys


def _object(typed: Typed, wanted: JsonObject, root: Schema, what: str) -> Iterator[Mismatch]:
    assert isinstance(typed.node, MappingNode)
    properties = wanted.get("properties")
    known: JsonObject = properties if isinstance(properties, dict) else {}
    other = wanted.get("additionalProperties", True)
    given: set[str] = set()
    for (key, _), part in zip(typed.node.entries, typed.parts, strict=True):
        name = str(key.value)
        given.add(name)
        inner = known.get(name, other)
        if inner is False:
            yield Mismatch(span=key.span, message=_unknown(name, what, tuple(known)))
            continue
        yield from _wire(part, _schema(inner), root, f"{what}.{name}" if what else name)
    yield from missing(wanted, given, typed.node.span, what)


def missing(
    wanted: Schema, given: set[str], span: Span, what: str = "", by: str = ""
) -> Iterator[Mismatch]:
    """Yield one mismatch for each required name that was not given."""
    required = wanted.get("required", []) if isinstance(wanted, dict) else []
    for name in required if isinstance(required, list) else []:
        if name not in given:
            full = f"{what}.{name}" if what else str(name)
            owner = f" by {by}" if by else ""
            yield Mismatch(span=span, message=f"{full!r} is required{owner} and missing")


def _unknown(name: str, what: str, known: tuple[str, ...]) -> str:
    place = f" in {what!r}" if what else ""
    hint = nearest(name, known)
    choices = f"; known: {', '.join(known)}" if known and not hint else ""
    return f"{name!r} is unknown{place}{hint}{choices}"


def _list(typed: Typed, wanted: JsonObject, root: Schema, what: str) -> Iterator[Mismatch]:
    count = len(typed.parts)
    least, most = wanted.get("minItems", 0), wanted.get("maxItems", count)
    if isinstance(least, int) and isinstance(most, int) and not least <= count <= most:
        message = f"{_subject(what)}expected {describe(wanted)}, got {count} items"
        yield Mismatch(span=typed.span, message=message)
    items = _schema(wanted.get("items", True))
    for index, part in enumerate(typed.parts):
        yield from _wire(part, items, root, f"{what}[{index}]")


def _leaf(typed: Typed, wanted: Schema, root: Schema, what: str) -> Iterator[Mismatch]:
    whole = _whole(wanted, root)
    verdict = assignable(typed.schema, whole)
    got, expected = describe(typed.schema), describe(wanted)
    if verdict == "fits":
        return
    if verdict == "open" or (verdict == "bounds" and is_unsaid(typed.schema, whole)):
        message = f"{_subject(what)}whether {got} is {expected} is checked at run time"
        yield Mismatch(span=typed.span, message=message, level="note")
        return
    if _is_shallow(typed.schema, wanted) or "const" in _keys(typed.schema):
        message = f"{_subject(what)}expected {expected}, got {got}"
    else:
        message = f"{_subject(what)}{misfit(typed.schema, whole)}"
    shown, about = _shown(typed.schema, whole), excess(typed, whole)
    if verdict == "clash" or "const" in _keys(typed.schema):
        yield Mismatch(span=typed.span, message=message, witness=shown, about=about)
        return
    help_ = "it is checked at run time; bound what is given, or test it first"
    yield Mismatch(
        span=typed.span,
        message=message,
        level="warning",
        help=help_,
        witness=shown,
        about=about,
    )


def _shown(given: Schema, wanted: Schema) -> JsonValue:
    """Return `{"value": …}` with a value that is given and not taken, None where none was found."""
    found = witness(given, wanted)
    return None if found is None else {"value": found.value}


def _keys(schema: Schema) -> frozenset[str]:
    return frozenset(schema) if isinstance(schema, dict) else frozenset()


def _is_shallow(*schemas: Schema) -> bool:
    """Tell whether a few words can say all of the schemas."""
    deep = frozenset({"properties", "items", "$ref", "anyOf", "oneOf", "allOf", "prefixItems"})
    return not any(_keys(schema) & deep for schema in schemas)


def _subject(what: str) -> str:
    return f"{what}: " if what else ""


def _schema(value: JsonValue) -> Schema:
    return value if isinstance(value, dict | bool) else True


def _whole(wanted: Schema, root: Schema) -> Schema:
    """Give a part of a schema the definitions that its references need."""
    if isinstance(wanted, dict) and isinstance(root, dict) and "$defs" in root:
        return {**wanted, "$defs": root["$defs"]}
    return wanted
