"""Request bodies and responses: which media type is used, and the schema of the value."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from dagflow.core.pointers import under
from dagflow.core.values import JsonObject, JsonValue, Schema, canonical
from dagflow.tools.media import BodyKind, essence, kind_of, preferred
from dagflow.tools.parameters import check_style
from dagflow.tools.refs import OperationRefusedError
from dagflow.tools.schemas import SchemaCompiler

BYTES: Final[JsonObject] = {"type": "string", "contentEncoding": "base64"}
"""Bytes, in a world of JSON values."""

NO_BODY: Final = frozenset({"204", "205", "304"})


def compile_body(
    compiler: SchemaCompiler, raw: JsonValue, at: str
) -> tuple[Schema, JsonObject] | None:
    """Return the schema of `with.body` and the wire's entry, or None when there is no body.

    Raises `OperationRefusedError` when none of the declared forms can be written.
    """
    declared, at = compiler.resolver.follow(raw, at)
    if declared is None:
        return None
    content = declared.get("content") if isinstance(declared, dict) else None
    if not isinstance(declared, dict) or not isinstance(content, dict):
        raise OperationRefusedError("a request body needs content", at)
    media_type = preferred(content)
    if media_type is None:
        return None
    media = content[media_type]
    place = under(at, "content", media_type)
    kind = kind_of(media_type)
    schema, encoding = _body(compiler, kind, media if isinstance(media, dict) else {}, place)
    wire: JsonObject = {
        "media_type": "application/json" if "*" in media_type else media_type,
        "kind": kind,
        "required": declared.get("required") is True,
    }
    return schema, {**wire, "encoding": encoding} if encoding else wire


def _body(
    compiler: SchemaCompiler, kind: BodyKind, media: JsonObject, at: str
) -> tuple[Schema, JsonObject]:
    if kind == "text":
        return {"type": "string"}, {}
    if kind == "bytes":
        return dict(BYTES), {}
    if kind == "json":
        return compiler.convert(media.get("schema", True), under(at, "schema")), {}
    return _fields(compiler, kind, media, at)


def _fields(
    compiler: SchemaCompiler, kind: BodyKind, media: JsonObject, at: str
) -> tuple[Schema, JsonObject]:
    """Compile a form: an object whose properties each go on the wire in a way of their own."""
    schema, place = compiler.inline(media.get("schema", {"type": "object"}), under(at, "schema"))
    target, _ = compiler.resolver.follow(media.get("schema", {"type": "object"}), at)
    if not isinstance(schema, dict) or not isinstance(target, dict):
        raise OperationRefusedError("a form's schema is an object", place)
    raw = target.get("properties")
    properties = raw if isinstance(raw, dict) else {}
    hints = media.get("encoding")
    encoding: JsonObject = {}
    changed: JsonObject = {}
    for name, inner in properties.items():
        hint = hints.get(name) if isinstance(hints, dict) else None
        entry = hint if isinstance(hint, dict) else {}
        try:
            encoding[name], replaced = _field(compiler, kind, entry, inner, place)
        except OperationRefusedError as error:
            if name in _names(target.get("required")):
                raise
            compiler.note(f"the body's {name!r} was left out: {error.message}")
            encoding.pop(name, None)
            replaced = False
        if replaced is not None:
            changed[name] = replaced
    kept = schema.get("properties")
    if isinstance(kept, dict):
        visible = {name: changed.get(name, value) for name, value in kept.items()}
        schema = {"type": "object", **schema, "properties": visible}
    return schema, encoding


def _field(
    compiler: SchemaCompiler, kind: BodyKind, hint: JsonObject, inner: JsonValue, at: str
) -> tuple[JsonObject, Schema | None]:
    """Return one field's wire entry, and the schema that replaces its own, if one does."""
    content_type = hint.get("contentType")
    if kind == "multipart":
        return _part(compiler, content_type, inner, at)
    style = hint.get("style")
    if style is None and isinstance(content_type, str) and kind_of(content_type) == "json":
        return {"style": "json", "explode": False}, None
    style = style if isinstance(style, str) else "form"
    explode = hint.get("explode", style == "form") is True
    check_style(compiler, style, explode, inner, at)
    entry: JsonObject = {"style": style, "explode": explode}
    return ({**entry, "allow_reserved": True} if hint.get("allowReserved") else entry), None


def _part(
    compiler: SchemaCompiler, content_type: JsonValue, inner: JsonValue, at: str
) -> tuple[JsonObject, Schema | None]:
    target, _ = compiler.resolver.follow(inner, at)
    items = target.get("items") if isinstance(target, dict) else None
    item, _ = compiler.resolver.follow(items, at)
    declared = content_type.partition(",")[0].strip() if isinstance(content_type, str) else ""
    if _is_bytes(target, declared):
        return {"kind": "bytes", "media_type": declared or "application/octet-stream"}, dict(BYTES)
    if _is_bytes(item, declared):
        many: JsonObject = {"type": "array", "items": dict(BYTES)}
        return {"kind": "bytes", "media_type": declared or "application/octet-stream"}, many
    if declared:
        kind = kind_of(declared)
        return {"kind": kind if kind == "json" else "text", "media_type": declared}, None
    return {"kind": "auto", "media_type": ""}, None


def _is_bytes(schema: JsonValue, content_type: str) -> bool:
    if not isinstance(schema, dict) or schema.get("type", "string") not in ("string", "file"):
        return False
    if schema.get("format") == "binary" or "contentMediaType" in schema:
        return "contentEncoding" not in schema
    return bool(content_type) and "*" not in content_type and kind_of(content_type) == "bytes"


def _names(value: JsonValue) -> list[JsonValue]:
    return value if isinstance(value, list) else []


def compile_responses(
    compiler: SchemaCompiler, method: str, raw: JsonValue, at: str
) -> tuple[JsonObject, JsonObject]:
    """Return the schema of the step's output, and the wire's table of successful responses.

    Successful are the declared 2xx; `default` counts only where none is declared.
    """
    table = dict(_successes(compiler, method, raw, at))
    if not table:
        compiler.note("no 2xx response is declared; any body is accepted")
        table = {"2XX": _response("any", "", True, {})}
    return _output(table), table  # type: ignore[return-value]  # values are JSON objects


def _successes(
    compiler: SchemaCompiler, method: str, raw: JsonValue, at: str
) -> Iterator[tuple[str, JsonObject]]:
    responses = raw if isinstance(raw, dict) else {}
    codes = {str(code).upper(): code for code in responses}
    wanted = [code for code in codes if re.fullmatch(r"2(?:\d\d|XX)", code)]
    if not wanted and "DEFAULT" in codes:
        wanted = ["DEFAULT"]
    for code in sorted(wanted):
        place = under(at, codes[code])
        name = "2XX" if code == "DEFAULT" else code
        yield name, _compile_response(compiler, method, code, responses[codes[code]], place)


def _compile_response(
    compiler: SchemaCompiler, method: str, code: str, raw: JsonValue, at: str
) -> JsonObject:
    declared, at = compiler.resolver.follow(raw, at)
    response = declared if isinstance(declared, dict) else {}
    headers = response.get("headers")
    names: JsonObject = {
        str(name).lower(): {"type": "string"}
        for name in (headers if isinstance(headers, dict) else {})
        if str(name).lower() not in {"content-type", "set-cookie"}
    }
    content = response.get("content")
    media_type = preferred(content) if isinstance(content, dict) else None
    if method == "HEAD" or code in NO_BODY or media_type is None:
        return _response("none", "", {"type": "null"}, names)
    assert isinstance(content, dict)
    media = content[media_type]
    kind = kind_of(media_type)
    if kind != "json":
        schema: Schema = {"type": "string"} if kind == "text" else dict(BYTES)
        return _response("text" if kind == "text" else "bytes", media_type, schema, names)
    inner = media.get("schema", True) if isinstance(media, dict) else True
    place = under(at, "content", media_type, "schema")
    return _response("json", essence(media_type), compiler.convert(inner, place), names)


def _response(kind: str, media_type: str, schema: Schema, headers: JsonObject) -> JsonObject:
    return {"kind": kind, "media_type": media_type, "schema": schema, "headers": headers}


def _output(table: dict[str, JsonObject]) -> JsonObject:
    bodies: dict[bytes, JsonValue] = {}
    headers: JsonObject = {}
    for response in table.values():
        bodies.setdefault(canonical(response["schema"]), response["schema"])
        declared = response["headers"]
        headers.update(declared if isinstance(declared, dict) else {})
    schemas = list(bodies.values())
    return {
        "type": "object",
        "properties": {
            "status": _status(table),
            "headers": {
                "type": "object",
                "properties": dict(sorted(headers.items())),
                "additionalProperties": {"type": "string"},
            },
            "body": schemas[0] if len(schemas) == 1 else {"anyOf": schemas},
        },
        "required": ["status", "headers", "body"],
        "additionalProperties": False,
    }


def _status(table: dict[str, JsonObject]) -> JsonObject:
    if "2XX" in table:
        return {"type": "integer", "minimum": 200, "maximum": 299}
    return {"type": "integer", "enum": [int(code) for code in sorted(table)]}
