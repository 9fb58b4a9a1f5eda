"""Reads types: bare words, JSON Schemas, and closed objects of named fields."""

from __future__ import annotations

from functools import cache
from typing import Any, Final

from dagflow.compiler.source.keywords import DATA, DIALECT, KEYWORDS, MAP, REFUSED, subschemas
from dagflow.compiler.source.names import Twins, name_of
from dagflow.compiler.source.problems import listed
from dagflow.compiler.source.simple import is_simple
from dagflow.compiler.source.spot import BAD, Bad, Spot
from dagflow.compiler.source.wording import found
from dagflow.core.findings import Edit, Fix
from dagflow.core.node import Mapping, Node, Scalar, Sequence, plain
from dagflow.core.pointers import under
from dagflow.core.source import Span
from dagflow.core.values import JsonObject, JsonValue, Schema
from dagflow.core.words import closest
from dagflow.core.workflow import Declared, FieldDecl, SchemaText
from dagflow.expr.validators import Validator, compiled, is_linear

WORDS: Final = {
    "string": "string", "integer": "integer", "number": "number", "boolean": "boolean",
    "null": "null", "list": "array", "array": "array", "object": "object",
}  # fmt: skip
FOREIGN: Final = {
    "str": "string", "text": "string", "int": "integer", "long": "integer", "float": "number",
    "double": "number", "decimal": "number", "bool": "boolean", "none": "null", "dict": "object",
    "map": "object", "mapping": "object", "json": "object", "tuple": "list", "set": "list",
    "sequence": "list",
}  # fmt: skip
TELLTALE: Final = frozenset({"properties", "required", "items", "enum", "additionalProperties",
                             "oneOf", "anyOf", "allOf", "$ref", "const", "minLength", "maxLength",
                             "minimum", "maximum", "pattern", "format"})  # fmt: skip


def schema_of(declared: Declared) -> Schema:
    """Return the JSON Schema of a declared type; named fields make a closed object."""
    if declared.whole is not None:
        return declared.whole.schema
    properties: JsonObject = {}
    for field in declared.fields:
        properties[field.name.value] = _moved(
            field.type.schema, under("#/properties", field.name.value)
        )
    return {
        "type": "object",
        "properties": properties,
        "required": [item.name.value for item in declared.fields if not item.type.optional],
        "additionalProperties": False,
    }


def _moved(schema: JsonValue, root: str) -> Any:
    """Return the schema with its local references pointing below `root`."""
    if isinstance(schema, list):
        return [_moved(item, root) for item in schema]
    if not isinstance(schema, dict):
        return schema
    moved: JsonObject = {}
    for key, value in schema.items():
        if key == "$ref" and isinstance(value, str):
            moved[key] = root + value.removeprefix("#")
        elif key in MAP and isinstance(value, dict):
            moved[key] = {name: _moved(item, root) for name, item in value.items()}
        else:
            moved[key] = value if key in DATA else _moved(value, root)
    return moved


def read_fields(node: Node, spot: Spot, *, whole: bool) -> Declared | Bad:
    """Read `{name: type, …}`; with `whole` also a bare word or `{schema: type}`."""
    if not isinstance(node, Mapping):
        return _read_whole(node, spot, whole=whole)
    only = node.entries[0] if len(node.entries) == 1 else None
    if whole and only is not None and only[0].value == "schema":
        inner = spot.child("schema", "schema", only[0].span, spot.doc)
        schema = read_schema(only[1], inner)
        return BAD if isinstance(schema, Bad) else Declared((), schema, node.span)
    if _is_one_schema(node):
        return _one_schema(node, spot, whole=whole)
    fields = _read_entries(node, spot)
    return BAD if len(fields) < len(node.entries) else Declared(tuple(fields), None, node.span)


def _read_whole(node: Node, spot: Spot, *, whole: bool) -> Declared | Bad:
    if whole and isinstance(node, Scalar) and (isinstance(node.value, str) or node.raw):
        schema = read_schema(node, spot)
        return BAD if isinstance(schema, Bad) else Declared((), schema, node.span)
    what = "a mapping of names to types" + (", or one type" if whole else "")
    if isinstance(node, Scalar) and node.value is None and not node.raw:
        said, span = f"`{spot.label}` has no value; it takes {what}", spot.span
    else:
        said, span = f"`{spot.label}` takes {what}, not {found(node)}", node.span
    return spot.bad(said, span, f"for example `{spot.label}: {{ticket: string, count: integer}}`")


def _read_entries(node: Mapping, spot: Spot) -> list[FieldDecl]:
    twins = Twins()
    fields = []
    for key, value in node.entries:
        inner = spot.child(key.value, str(key.value), key.span)
        name = name_of(key, inner)
        schema = read_schema(value, inner)
        if isinstance(name, Bad) or not twins.admits(name.value, name.span, inner, "the field"):
            continue
        if not isinstance(schema, Bad):
            fields.append(FieldDecl(name, schema))
    return fields


def _is_one_schema(node: Mapping) -> bool:
    """Tell whether named fields were expected and one JSON Schema stands there."""
    keys = {str(key.value) for key, _ in node.entries}
    kind = node.get("type")
    if not keys <= KEYWORDS or not keys & TELLTALE or not isinstance(kind, Scalar):
        return False
    return any(not _could_be_type(value) for key, value in node.entries if key.value in TELLTALE)


def _could_be_type(node: Node) -> bool:
    if isinstance(node, Scalar):
        return isinstance(node.value, str) and node.value.removesuffix("?") in WORDS
    return isinstance(node, Mapping) and all(key.value in KEYWORDS for key, _ in node.entries)


def _one_schema(node: Mapping, spot: Spot, *, whole: bool) -> Bad:
    said = f"`{spot.label}` takes names with their types, and this is one JSON Schema"
    example = "{ticket: string, count: {type: integer, minimum: 0}}"
    remedy = f"write `{spot.label}: {{schema: {{…}}}}`" if whole else f"write {example}"
    return spot.bad(said, node.entries[0][0].span, remedy)


def read_schema(node: Node, spot: Spot) -> SchemaText | Bad:
    """Read one type: a bare word, or a JSON Schema 2020-12."""
    if isinstance(node, Scalar):
        return _word(node, spot)
    if isinstance(node, Sequence):
        remedy = "a list type is `list`, or `{type: array, items: {type: string}}`"
        return spot.bad(f"`{spot.label}` takes a type, not a list", node.span, remedy)
    before = spot.context.problems.errors
    _check_keywords(node, spot)
    if spot.context.problems.errors > before:
        return BAD
    schema = plain(node)
    assert isinstance(schema, dict)
    _check_schema(schema, node, spot)
    if spot.context.problems.errors > before:
        return BAD
    return SchemaText(schema, "default" in schema, node, node.span)


def _word(node: Scalar, spot: Spot) -> SchemaText | Bad:
    text = node.raw if node.value is None else node.value
    if not isinstance(text, str) or not text:
        what = "has no type" if not node.raw else f"takes a type, not {found(node)}"
        example = f"for example `{spot.label}: string`"
        return spot.bad(f"`{spot.label}` {what}", spot.span if not node.raw else node.span, example)
    word = text.removesuffix("?")
    if word in WORDS:
        schema: JsonObject = {"type": WORDS[word]}
        return SchemaText(schema, text.endswith("?"), node, node.span)
    hint = FOREIGN.get(word.lower()) or closest(word, sorted(WORDS)) or ""
    mark = "?" if text.endswith("?") else ""
    suffix = f"; did you mean `{hint}{mark}`?" if hint else ""
    fixes = (Fix(f"write `{hint}{mark}`", (Edit(node.span, hint + mark),)),) if hint else ()
    remedy = f"a type is {listed(list(WORDS))}, with `?` optional, or a JSON Schema {{type: …}}"
    if "[" in text or "<" in text:
        remedy = "a list of one type is written `{type: array, items: {type: string}}`"
    return spot.bad(f"`{text}` is no type{suffix}", node.span, remedy, fixes=fixes)


def _check_keywords(node: Mapping, spot: Spot) -> None:
    """Refuse keys that JSON Schema would silently pass over, here and in every subschema."""
    for key, value in node.entries:
        word = str(key.value)
        at = spot.child(word, word, key.span)
        if word in REFUSED:
            at.bad(f"`{word}` can't be used in a schema", key.span, REFUSED[word])
        elif word not in KEYWORDS:
            _unknown_keyword(key, at)
        elif word == "$ref":
            _check_reference(value, at)
        elif word == "$schema" and not (isinstance(value, Scalar) and value.value == DIALECT):
            at.bad("a schema is JSON Schema 2020-12 and nothing else", value.span, "remove it")
    for path, inner in subschemas(node):
        if isinstance(inner, Mapping):
            _check_keywords(inner, _deeper(spot, path, inner.span))


def _deeper(spot: Spot, path: tuple[object, ...], span: Span) -> Spot:
    for key in path:
        spot = spot.child(key, str(key), span)
    return spot


def _unknown_keyword(key: Scalar, at: Spot) -> None:
    hint = closest(at.label, sorted(KEYWORDS))
    suffix = f"; did you mean `{hint}`?" if hint else ""
    fixes = (Fix(f"write `{hint}`", (Edit(key.span, hint),)),) if hint else ()
    remedy = "fields of an object stand under `properties` in a JSON Schema"
    at.bad(f"JSON Schema has no keyword `{at.label}`{suffix}", key.span, remedy, fixes=fixes)


def _check_reference(value: Node, at: Spot) -> None:
    text = value.value if isinstance(value, Scalar) else None
    if not isinstance(text, str) or (text != "#" and not text.startswith("#/")):
        remedy = "only `#/…` in the same schema can be referred to: nothing is fetched"
        at.bad(
            f"`$ref` can't point at {found(value).removeprefix('the text ')}", value.span, remedy
        )


@cache
def _meta() -> Validator:
    """Return a validator of schemas."""
    return compiled({"$ref": DIALECT})


def _check_schema(schema: JsonObject, node: Mapping, spot: Spot) -> None:
    if is_simple(schema):
        return
    seen: set[tuple[object, ...]] = set()
    for error in _meta().iter_errors(schema):
        path = tuple(error.instance_path)
        if path not in seen:
            seen.add(path)
            _meta_error(error, path, node, spot)
    if not seen:
        _check_use(schema, node, spot)


def _meta_error(error: Any, path: tuple[object, ...], node: Mapping, spot: Spot) -> None:
    place, at = _walk(node, path, spot)
    if path and path[-1] == "type" and isinstance(place, Scalar):
        word = str(place.value)
        hint = WORDS.get(word) or FOREIGN.get(word) or closest(word, sorted(set(WORDS.values())))
        hint = WORDS.get(hint or "", "")
        suffix = f"; did you mean `{hint}`?" if hint else ""
        fixes = (Fix(f"write `{hint}`", (Edit(place.span, hint),)),) if hint else ()
        remedy = f"JSON Schema has {listed(sorted(set(WORDS.values())), 'and')}"
        at.bad(f"JSON Schema has no type `{word}`{suffix}", place.span, remedy, fixes=fixes)
        return
    text = place.value if isinstance(place, Scalar) else None
    remedy = ""
    if isinstance(text, str) and text.removesuffix("?") in WORDS:
        remedy = (
            f"inside a JSON Schema a type is written `{{type: {WORDS[text.removesuffix('?')]}}}`"
        )
    at.bad(f"`{at.label}` can't be so in a JSON Schema: {error.message}", place.span, remedy)


def _walk(node: Node, path: tuple[object, ...], spot: Spot) -> tuple[Node, Spot]:
    for key in path:
        if isinstance(node, Mapping):
            node = next(value for name, value in node.entries if name.value == key)
        elif isinstance(node, Sequence):
            node = node.items[int(str(key))]
        spot = spot.child(key, str(key), node.span)
    return node, spot


def _check_use(schema: JsonObject, node: Mapping, spot: Spot) -> None:
    """Refuse what can't be used: a pattern that isn't linear, a reference to nothing, …"""
    before = spot.context.problems.errors
    _check_patterns(node, spot)
    if spot.context.problems.errors > before:
        return
    try:
        validator = compiled(schema)
    except ValueError as error:
        spot.bad(f"the schema can't be used: {error}", node.span, "check its `$ref`s")
        return
    default = node.get("default")
    misfit = None if default is None else next(validator.iter_errors(schema["default"]), None)
    if default is not None and misfit is not None:
        at = spot.child("default", "default", default.span)
        at.bad(f"the default does not fit its own type: {misfit.message}", default.span)


def _check_patterns(node: Mapping, spot: Spot) -> None:
    pattern = node.get("pattern")
    if isinstance(pattern, Scalar) and not is_linear(str(pattern.value)):
        _bad_pattern(pattern, spot.child("pattern", "pattern", pattern.span))
    named = node.get("patternProperties")
    for key, _ in named.entries if isinstance(named, Mapping) else ():
        if not is_linear(str(key.value)):
            _bad_pattern(key, _deeper(spot, ("patternProperties", key.value), key.span))
    for path, inner in subschemas(node):
        if isinstance(inner, Mapping):
            _check_patterns(inner, _deeper(spot, path, inner.span))


def _bad_pattern(node: Scalar, at: Spot) -> None:
    remedy = (
        "patterns have no look-around and no back references, so that they match in linear time"
    )
    at.bad(f"the pattern {node.value!r} can't be used", node.span, remedy)
