"""Compiled JSON Schemas: the one place that says how a schema is taken.

Draft 2020-12; the formats of `FORMATS` are checked, others are annotations; nothing is ever
fetched, and patterns match in linear time (no look-around, no back references). jsonschema-rs is
loaded when the first schema is compiled.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, Final, NoReturn, Protocol

from dagflow.core.values import JsonValue, Schema

FORMATS: Final = frozenset(
    {"uuid", "date", "time", "date-time", "duration", "ipv4", "ipv6", "json-pointer"}
)
"""The formats that a value must have: each says exactly which texts it takes. The compiler relies
on them (instants can be read, such a text can carry no instructions)."""

_NOTED: Final = (
    "email", "idn-email", "hostname", "idn-hostname", "uri", "uri-reference", "iri",
    "iri-reference", "uri-template", "relative-json-pointer", "regex",
)  # fmt: skip
"""Formats on which the world does not agree."""


class SchemaError(Protocol):
    """One way in which a value breaks a schema; `message` may show the value."""

    @property
    def message(self) -> str:
        """The library's words."""
        ...

    @property
    def instance_path(self) -> Sequence[str | int]:
        """Where in the value."""
        ...

    @property
    def kind(self) -> Any:
        """Which keyword, and what it asks for; the library's own."""
        ...


class Validator(Protocol):
    """A compiled schema."""

    def is_valid(self, instance: JsonValue) -> bool:
        """Tell whether a value fits."""
        ...

    def iter_errors(self, instance: JsonValue) -> Iterator[SchemaError]:
        """Yield how it doesn't."""
        ...


def compiled(schema: Schema) -> Validator:
    """Compile a schema. Raises `ValueError` with one line on why it can't be used."""
    import jsonschema_rs

    try:
        validator: Validator = jsonschema_rs.Draft202012Validator(
            schema,
            retriever=_closed,
            pattern_options=jsonschema_rs.RegexOptions(),
            validate_formats=True,
            formats=dict.fromkeys(_NOTED, _any),
        )
    except (ValueError, jsonschema_rs.ReferencingError) as error:
        first = str(error).strip().split("\n")[0]
        raise ValueError(re.sub(r"\s+", " ", first)) from None
    return validator


def _any(_value: str) -> bool:
    return True


def _closed(uri: str) -> NoReturn:
    raise ValueError(f"the schema refers to {uri}, and nothing is fetched")


@lru_cache(maxsize=4096)
def is_linear(pattern: str) -> bool:
    """Tell whether a regex can be used: it is one, and it matches in linear time."""
    try:
        compiled({"pattern": pattern})
    except ValueError:
        return False
    return True
