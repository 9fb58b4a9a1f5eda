"""Parameters of an operation: the argument groups they make, and how they go on the wire."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import Final

from dagflow.core.pointers import under
from dagflow.core.records import dataclass
from dagflow.core.values import JsonObject, JsonValue, Schema
from dagflow.tools.media import is_json
from dagflow.tools.refs import OperationRefusedError
from dagflow.tools.schemas import SchemaCompiler, clean

PLACES: Final = ("path", "query", "header", "cookie")
STYLES: Final[Mapping[str, tuple[str, ...]]] = {
    "path": ("simple", "label", "matrix"),
    "query": ("form", "spaceDelimited", "pipeDelimited", "deepObject"),
    "header": ("simple",),
    "cookie": ("form",),
}
DEFAULT_STYLE: Final[Mapping[str, str]] = {
    "path": "simple", "query": "form", "header": "simple", "cookie": "form",
}  # fmt: skip
RESERVED_HEADERS: Final = frozenset({"accept", "content-type", "authorization"})
"""Header parameters that the specification has ignored: they come from elsewhere."""

IDEMPOTENCY_HEADER: Final = "idempotency-key"
_SCALARS: Final = frozenset({"string", "number", "integer", "boolean", "null"})


@dataclass(slots=True)
class Parameters:
    """Every parameter of an operation: schemas by group, the wire's list, and the key header."""

    groups: dict[str, JsonObject] = field(default_factory=dict)
    wire: list[JsonValue] = field(default_factory=list)
    idempotency_header: str = ""


def compile_parameters(
    compiler: SchemaCompiler, path: str, listed: list[tuple[JsonValue, str]]
) -> Parameters:
    """Compile the parameters of an operation on `path`, later entries replacing earlier ones.

    An optional parameter that has no defined form on the wire is left out with a note; a required
    one refuses the operation. A name in the path that nothing declares becomes a string.
    """
    found = Parameters()
    names = re.findall(r"\{([^{}]+)\}", path)
    for declared, at in _merged(compiler, listed):
        place, name = str(declared["in"]), str(declared["name"])
        if place == "path" and name not in names:
            compiler.note(f"the path has no {{{name}}}, which a parameter declares")
            continue
        if place == "header" and name.lower() == IDEMPOTENCY_HEADER:
            found.idempotency_header = name
        _add(found, compiler, declared, at)
    declared_names = found.groups.get("path", {}).get("properties", {})
    for name in names:
        if not isinstance(declared_names, dict) or name not in declared_names:
            compiler.note(f"no parameter declares {{{name}}} of the path; taken as a string")
            declared = {"in": "path", "name": name, "required": True, "schema": {"type": "string"}}
            _add(found, compiler, declared, "")
    return found


def _merged(
    compiler: SchemaCompiler, listed: list[tuple[JsonValue, str]]
) -> Iterator[tuple[JsonObject, str]]:
    found: dict[tuple[str, str], tuple[JsonObject, str]] = {}
    for raw, where in listed:
        declared, at = compiler.resolver.follow(raw, where)
        if not isinstance(declared, dict) or not isinstance(declared.get("name"), str):
            raise OperationRefusedError("a parameter needs a name", at)
        place, name = declared.get("in"), str(declared["name"])
        if place not in PLACES:
            raise OperationRefusedError(f"parameter {name!r} is in {place!r}, not {PLACES}", at)
        if place == "header" and name.lower() in RESERVED_HEADERS:
            continue
        found[str(place), name.lower() if place == "header" else name] = (declared, at)
    yield from found.values()


def _add(found: Parameters, compiler: SchemaCompiler, declared: JsonObject, at: str) -> None:
    place, name = str(declared["in"]), str(declared["name"])
    required = place == "path" or declared.get("required") is True
    try:
        schema, wire = _compile(compiler, declared, at)
    except OperationRefusedError as error:
        if required:
            raise
        compiler.note(f"the {place} parameter {name!r} was left out: {error.message}")
        return
    if place == "header" and name.lower() == IDEMPOTENCY_HEADER:
        required = False  # filled in with the step's own key
    group = found.groups.setdefault(place, _group())
    properties, names = group["properties"], group["required"]
    assert isinstance(properties, dict)
    assert isinstance(names, list)
    properties[name] = schema
    if required:
        names.append(name)
    found.wire.append({"in": place, "name": name, **wire})


def _group() -> JsonObject:
    return {"type": "object", "properties": {}, "required": [], "additionalProperties": False}


def _compile(compiler: SchemaCompiler, declared: JsonObject, at: str) -> tuple[Schema, JsonObject]:
    content = declared.get("content")
    if content is not None:
        return _with_content(compiler, content, under(at, "content"))
    place = str(declared["in"])
    style = declared.get("style", DEFAULT_STYLE[place])
    if style not in STYLES[place]:
        raise OperationRefusedError(f"style {style!r} is not defined in {place}", at)
    explode = declared.get("explode", style == "form")
    raw = declared.get("schema", True)
    check_style(compiler, str(style), explode is True, raw, under(at, "schema"))
    schema = _described(compiler.convert(raw, under(at, "schema")), declared)
    wire: JsonObject = {"style": style, "explode": explode is True}
    if declared.get("allowReserved") is True:
        wire["allow_reserved"] = True
    return schema, wire


def _with_content(
    compiler: SchemaCompiler, content: JsonValue, at: str
) -> tuple[Schema, JsonObject]:
    if not isinstance(content, dict) or len(content) != 1:
        raise OperationRefusedError("a parameter's content is exactly one media type", at)
    media_type, media = next(iter(content.items()))
    if not is_json(media_type) or not isinstance(media, dict):
        raise OperationRefusedError(f"a parameter as {media_type} is not supported", at)
    schema = compiler.convert(media.get("schema", True), under(at, media_type, "schema"))
    return schema, {"style": "json", "explode": False}


def _described(schema: Schema, declared: JsonObject) -> Schema:
    text = declared.get("description")
    if not isinstance(schema, dict) or "description" in schema or not isinstance(text, str):
        return schema
    return {**schema, "description": clean(text, 700)}


def check_style(
    compiler: SchemaCompiler, style: str, explode: bool, schema: JsonValue, at: str
) -> None:
    """Raise `OperationRefusedError` where the specification gives the value no form."""
    target, _ = compiler.resolver.follow(schema, at)
    kinds = _kinds(target)
    if style == "deepObject":
        if kinds == {"array"}:
            raise OperationRefusedError("deepObject of an array has no defined form", at)
        _check_flat(compiler, target, at, "deepObject with nested values has no defined form")
    elif style in {"spaceDelimited", "pipeDelimited"} and kinds == {"object"} and explode:
        raise OperationRefusedError(f"{style} of an exploded object has no defined form", at)
    else:
        _check_flat(compiler, target, at, f"nested values have no defined form in style {style}")


def _check_flat(compiler: SchemaCompiler, target: JsonValue, at: str, message: str) -> None:
    for inner in _inner(target):
        if _is_nested(compiler, inner, at):
            raise OperationRefusedError(message, at)


def _inner(target: JsonValue) -> Iterator[JsonValue]:
    if isinstance(target, dict):
        properties = target.get("properties")
        yield from properties.values() if isinstance(properties, dict) else ()
        yield target.get("items")


def _is_nested(compiler: SchemaCompiler, schema: JsonValue, at: str) -> bool:
    target, _ = compiler.resolver.follow(schema, at)
    kinds = _kinds(target)
    return bool(kinds) and not kinds & _SCALARS


def _kinds(schema: JsonValue) -> set[str]:
    """Return the types that a schema says it has; empty when it doesn't say."""
    kind = schema.get("type") if isinstance(schema, dict) else None
    if isinstance(kind, list):
        return {str(name) for name in kind}
    return {str(kind)} if isinstance(kind, str) else set()
