"""The keywords of JSON Schema 2020-12: where subschemas are, and what dagflow leaves out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from dagflow.core.node import Mapping, Node, Sequence

ONE: Final = frozenset({
    "additionalProperties", "contains", "contentSchema", "else", "if", "items", "not",
    "propertyNames", "then", "unevaluatedItems", "unevaluatedProperties",
})  # fmt: skip
LIST: Final = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})
MAP: Final = frozenset({"$defs", "dependentSchemas", "patternProperties", "properties"})
DATA: Final = frozenset({"const", "default", "enum", "examples"})
OTHER: Final = frozenset({
    "$comment", "$ref", "$schema", "contentEncoding", "contentMediaType", "dependentRequired",
    "deprecated", "description", "exclusiveMaximum", "exclusiveMinimum", "format", "maxContains",
    "maxItems", "maxLength", "maxProperties", "maximum", "minContains", "minItems", "minLength",
    "minProperties", "minimum", "multipleOf", "pattern", "readOnly", "required", "title", "type",
    "uniqueItems", "writeOnly",
})  # fmt: skip
KEYWORDS: Final = ONE | LIST | MAP | DATA | OTHER

REFUSED: Final = {
    "$id": "a schema has no address of its own here",
    "$anchor": "point at a part with `$ref: '#/$defs/…'`",
    "$dynamicRef": "point at a part with `$ref: '#/$defs/…'`",
    "$dynamicAnchor": "point at a part with `$ref: '#/$defs/…'`",
    "$vocabulary": "a workflow's schema declares no vocabulary",
    "definitions": "JSON Schema 2020-12 calls it `$defs`",
    "dependencies": "JSON Schema 2020-12 has `dependentRequired` and `dependentSchemas`",
    "additionalItems": "JSON Schema 2020-12 has `prefixItems` and `items`",
    "nullable": "say that null is allowed with `type: [string, 'null']`",
}
"""Words that look like keywords and are none here, with what to write instead."""

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"


def subschemas(node: Mapping) -> Iterator[tuple[tuple[object, ...], Node]]:
    """Yield the schemas right inside a schema, each with its path from there."""
    for key, value in node.entries:
        word = str(key.value)
        if word in ONE:
            yield (word,), value
        elif word in LIST and isinstance(value, Sequence):
            yield from (((word, index), item) for index, item in enumerate(value.items))
        elif word in MAP and isinstance(value, Mapping):
            yield from (((word, name.value), item) for name, item in value.entries)
