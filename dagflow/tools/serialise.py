"""Arguments as they go on the wire: every OpenAPI style, with percent-encoding."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final, TypeAlias
from urllib.parse import quote

from dagflow.core.errors import StepError
from dagflow.core.values import JsonObject, JsonValue

Pairs: TypeAlias = list[tuple[str, str]]
RESERVED: Final = ":/?@!$'()*,;"
"""What `allowReserved` leaves alone; `#`, `[`, `]`, `&`, `=` and `+` would change the query."""

_DELIMITERS: Final[Mapping[str, str]] = {"spaceDelimited": " ", "pipeDelimited": "|"}


def wire_text(value: JsonValue, name: str) -> str:
    """Return a scalar as text: `5`, `1.5`, `true`, and strings as they are."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and math.isfinite(value):
        return json.dumps(value)
    if isinstance(value, int):
        return str(value)
    raise StepError("schema", f"argument {name!r} holds a value that has no form on the wire")


def _encode(text: str) -> str:
    return quote(text, safe="")


def _encode_reserved(text: str) -> str:
    """Percent-encode what must be, leaving reserved characters and `%XX` as they are."""
    parts = re.split(r"(%[0-9A-Fa-f]{2})", text)
    return "".join(p if i % 2 else quote(p, safe=RESERVED) for i, p in enumerate(parts))


def _flat(name: str, value: JsonValue) -> list[str] | Pairs | str:
    """Return the value as text, a list of texts, or pairs of texts."""
    if isinstance(value, list):
        return [wire_text(item, name) for item in value]
    if isinstance(value, dict):
        return [(key, wire_text(item, name)) for key, item in value.items()]
    return wire_text(value, name)


def _listed(flat: list[str] | Pairs, join: str, *, explode: bool) -> str:
    """Write a list or pairs, already flat: `a,b` or, exploded, `k=v,k=v`."""
    parts: list[str] = []
    for item in flat:
        if isinstance(item, str):
            parts.append(_encode(item))
        elif explode:
            parts.append(f"{_encode(item[0])}={_encode(item[1])}")
        else:
            parts += [_encode(item[0]), _encode(item[1])]
    return join.join(parts)


def _simple(name: str, value: JsonValue, *, explode: bool) -> str:
    flat = _flat(name, value)
    return _encode(flat) if isinstance(flat, str) else _listed(flat, ",", explode=explode)


def _label(name: str, value: JsonValue, *, explode: bool) -> str:
    flat = _flat(name, value)
    if isinstance(flat, str):
        return f".{_encode(flat)}"
    return f".{_listed(flat, '.' if explode else ',', explode=explode)}" if flat else ""


def _matrix(name: str, value: JsonValue, *, explode: bool) -> str:
    flat = _flat(name, value)
    key = _encode(name)
    if isinstance(flat, str):
        return f";{key}={_encode(flat)}" if flat else f";{key}"
    if not flat:
        return ""
    if not explode:
        return f";{key}={_listed(flat, ',', explode=False)}"
    pairs = [(name, item) if isinstance(item, str) else item for item in flat]
    return "".join(f";{_encode(k)}={_encode(v)}" for k, v in pairs)


_PATH_STYLES: Final[Mapping[str, Callable[..., str]]] = {
    "simple": _simple, "label": _label, "matrix": _matrix,
}  # fmt: skip


def path_text(parameter: JsonObject, value: JsonValue) -> str:
    """Return a path parameter as it stands in the path, percent-encoded.

    Raises `StepError` (schema) for a value that leaves its place empty or would be `.` or `..`.
    """
    name = str(parameter["name"])
    if parameter["style"] == "json":
        text = _encode(compact(value))
    else:
        write = _PATH_STYLES[str(parameter["style"])]
        text = write(name, value, explode=parameter["explode"])
    if not text or text in {".", ".."}:
        raise StepError(
            "schema",
            f"path argument {name!r} would leave an empty or dotted segment in the path",
            remedy="give it a value that names something",
        )
    return text


def header_text(parameter: JsonObject, value: JsonValue) -> str:
    """Return a header's value; raises `StepError` (schema) for one with control characters."""
    name = str(parameter["name"])
    if parameter["style"] == "json":
        text = compact(value)
    else:
        flat = _flat(name, value)
        text = flat if isinstance(flat, str) else _header_list(flat, parameter["explode"] is True)
    if re.search(r"[\x00-\x08\x0a-\x1f\x7f]", text):
        raise StepError("schema", f"header argument {name!r} holds a control character")
    return text


def _header_list(flat: list[str] | Pairs, explode: bool) -> str:
    parts: list[str] = []
    for item in flat:
        if isinstance(item, str):
            parts.append(item)
        else:
            parts += [f"{item[0]}={item[1]}"] if explode else list(item)
    return ",".join(parts)


def pairs_of(parameter: JsonObject, value: JsonValue) -> Iterator[tuple[str, str]]:
    """Yield a query, form or cookie parameter as percent-encoded `name`, `value` pairs.

    An empty list or object yields nothing; an empty string yields the name with an empty value.
    """
    name, style = str(parameter["name"]), str(parameter["style"])
    encode = _encode_reserved if parameter.get("allow_reserved") else _encode
    if style == "json":
        yield _encode(name), encode(compact(value))
        return
    if style == "deepObject" and isinstance(value, dict):
        for key, item in value.items():
            yield _encode(f"{name}[{key}]"), encode(wire_text(item, name))
        return
    if style == "deepObject" and isinstance(value, list):
        raise StepError("schema", f"argument {name!r} is a list, which has no form in deepObject")
    yield from _form(parameter, value, encode)


def _form(
    parameter: JsonObject, value: JsonValue, encode: Callable[[str], str]
) -> Iterator[tuple[str, str]]:
    name, style = str(parameter["name"]), str(parameter["style"])
    flat = _flat(name, value)
    if isinstance(flat, str):
        yield _encode(name), encode(flat)
    elif parameter["explode"]:
        if style in _DELIMITERS and isinstance(value, dict):
            raise StepError("schema", f"argument {name!r} has no form in style {style}")
        for item in flat:
            key, text = (name, item) if isinstance(item, str) else item
            yield _encode(key), encode(text)
    elif flat:
        yield _encode(name), _joined(name, style, flat, encode)


def _joined(name: str, style: str, flat: list[str] | Pairs, encode: Callable[[str], str]) -> str:
    texts = [text for item in flat for text in ([item] if isinstance(item, str) else item)]
    delimiter = _DELIMITERS.get(style)
    if delimiter is None:
        # a comma inside a value must not look like one between values
        return ",".join(encode(text).replace(",", "%2C") for text in texts)
    if any(delimiter in text for text in texts):
        raise StepError(
            "schema", f"a value of argument {name!r} holds {delimiter!r}, which separates values"
        )
    return _encode(delimiter).join(encode(text) for text in texts)


def compact(value: JsonValue) -> str:
    """Return a value as JSON without spaces, in its own order of keys."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
