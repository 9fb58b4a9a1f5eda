"""Operations that may fail for some values of the right kind, and the warning that says so."""

from __future__ import annotations

from dagflow.core.values import JsonObject
from dagflow.expr.ast import Call, Const
from dagflow.expr.types import Type, values_of
from dagflow.expr.walking import Walk

_MAY_FAIL = frozenset({"int", "uint", "double", "bool", "timestamp", "duration", "base64.decode"})


def warn_failing(walk: Walk, node: Call, types: list[Type]) -> None:
    if node.function in {"_/_", "_%_"} and not _never_zero(types[1]):
        right = node.args[1]
        message = f"{walk.shown(node)} may fail: {walk.shown(right)} may be 0"
        walk.warn(node, message, "test it first, as in `x != 0 ? a / x : 0`")
    if node.function in _MAY_FAIL and not isinstance(node.args[0], Const):
        _warn_conversion(walk, node, types[0])


def _warn_conversion(walk: Walk, node: Call, found: Type) -> None:
    schema = found.schema if isinstance(found.schema, dict) else {}
    sure = node.function == "timestamp" and schema.get("format") == "date-time"
    if "string" in found.kinds and not sure:
        text = walk.shown(node.args[0])
        walk.warn(node, f"{walk.shown(node)} may fail: {text} may be no {_WORD[node.function]}")


_WORD = {
    "int": "integer", "uint": "unsigned integer", "double": "number", "bool": "boolean",
    "timestamp": "RFC 3339 instant", "duration": 'duration such as "90s"',
    "base64.decode": "base64 text",
}  # fmt: skip


def _never_zero(found: Type) -> bool:
    values = values_of(found)
    if values is not None:
        return 0 not in [value for value in values if not isinstance(value, bool)]
    schema = found.schema if isinstance(found.schema, dict) else {}
    return (
        _bound(schema, "minimum", 0) > 0
        or _bound(schema, "maximum", 0) < 0
        or _bound(schema, "exclusiveMinimum", -1) >= 0
        or _bound(schema, "exclusiveMaximum", 1) <= 0
    )


def _bound(schema: JsonObject, key: str, otherwise: float) -> float:
    value = schema.get(key)
    return value if isinstance(value, int | float) and not isinstance(value, bool) else otherwise
