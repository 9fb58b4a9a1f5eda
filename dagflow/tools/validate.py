"""Arguments and responses against JSON Schemas, in words that never show a value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from dagflow.core.pointers import under
from dagflow.core.values import JsonObject, JsonValue, Schema
from dagflow.expr.validators import Validator, compiled

MAX_SHOWN: Final = 120
MAX_KEPT: Final = 1024


def problem_of(
    schema: Schema, value: JsonValue, definitions: JsonObject | None = None
) -> str | None:
    """Return where (JSON Pointer) and how a value breaks a 2020-12 schema, or None.

    `definitions` are the schema's `$defs` where it does not hold them itself. The words name the
    schema's keyword and what it asks for, never the value: values may be secret. Schemas must not
    change after: they are compiled once. Raises ValueError when the schema itself is not one.
    """
    if schema is True:
        return None
    error = next(iter(_validator(schema, definitions).iter_errors(value)), None)
    return None if error is None else _describe(error)


def schema_problem(schema: Schema) -> str | None:
    """Return what is wrong with a schema itself, or None."""
    try:
        compiled(schema)
    except ValueError as error:
        return str(error)
    return None


_kept: dict[tuple[int, int], tuple[Schema, JsonObject | None, Validator]] = {}


def _validator(schema: Schema, definitions: JsonObject | None) -> Validator:
    """Look a compiled schema up by the objects themselves; keeping them keeps their ids theirs."""
    key = (id(schema), id(definitions))
    if key not in _kept:
        if len(_kept) >= MAX_KEPT:
            _kept.clear()
        _kept[key] = (schema, definitions, compiled(_whole(schema, definitions)))
    return _kept[key][2]


def _whole(schema: Schema, definitions: JsonObject | None) -> Schema:
    if isinstance(schema, bool) or not definitions:
        return schema
    return {**schema, "$defs": definitions}


def _describe(error: Any) -> str:
    at = under("", *error.instance_path) or "/"
    kind = error.kind.name
    if kind in {"oneOf", "anyOf"}:
        return _choice(at, error)
    words: Callable[[Any], str] | None = _WORDS.get(kind)
    if words is not None:
        return f"{at} {words(error.kind)}"
    return f"{at} breaks {kind} {_shown(error)}".rstrip()


def _choice(at: str, error: Any) -> str:
    branches = [branch[0] for branch in error.kind.as_dict().get("context", []) if branch]
    if not branches:
        return f"{at} fits more than one of its alternatives"
    nearest = max(branches, key=lambda branch: len(branch.instance_path))
    return f"{at} fits none of its {len(branches)} alternatives (nearest: {_describe(nearest)})"


def _shown(error: Any) -> str:
    text = repr(error.kind.value) if hasattr(error.kind, "value") else ""
    return text if len(text) <= MAX_SHOWN else text[: MAX_SHOWN - 1] + "…"


def _names(kind: Any) -> str:
    return ", ".join(repr(str(name)) for name in kind.as_dict().get("unexpected", [])[:5])


_WORDS: dict[str, Callable[[Any], str]] = {
    "required": lambda kind: f"has no {kind.as_dict().get('property')!r}, which is required",
    "additionalProperties": lambda kind: f"has {_names(kind)}, which the schema does not know",
    "type": lambda kind: f"is not of type {_types(kind)}",
    "falseSchema": lambda _: "may not be there",
}


def _types(kind: Any) -> str:
    types = kind.as_dict().get("types", [])
    return " or ".join(types) if isinstance(types, list) else str(types)
