"""Request bodies as bytes: JSON, forms, multipart, text and bytes."""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Callable, Iterator, Mapping
from typing import Final
from urllib.parse import quote

from dagflow.core.errors import StepError
from dagflow.core.values import JsonObject, JsonValue
from dagflow.tools.serialise import compact, pairs_of, wire_text


def payload(body: JsonObject, value: JsonValue) -> tuple[bytes, str]:
    """Return the body's bytes and its Content-Type.

    Raises `StepError` (schema) for a value that the media type can't carry.
    """
    return _WRITERS[str(body["kind"])](body, value)


def _json(body: JsonObject, value: JsonValue) -> tuple[bytes, str]:
    return compact(value).encode(), str(body["media_type"])


def _text(body: JsonObject, value: JsonValue) -> tuple[bytes, str]:
    media_type = str(body["media_type"])
    suffix = "" if "charset" in media_type.lower() else "; charset=utf-8"
    return wire_text(value, "body").encode(), f"{media_type}{suffix}"


def _bytes(body: JsonObject, value: JsonValue) -> tuple[bytes, str]:
    return _decoded(value, "body"), str(body["media_type"])


def _form(body: JsonObject, value: JsonValue) -> tuple[bytes, str]:
    pairs = [
        pair
        for name, item in _fields(value)
        if item is not None
        for pair in pairs_of({"name": name, **_entry(body, name, _FORM_FIELD)}, item)
    ]
    text = "&".join(f"{key}={item}" for key, item in pairs).replace("%20", "+")
    return text.encode(), str(body["media_type"])


def _multipart(body: JsonObject, value: JsonValue) -> tuple[bytes, str]:
    parts = [
        part
        for name, item in _fields(value)
        if item is not None
        for part in _parts(name, _entry(body, name, _PART), item)
    ]
    content = b"".join(parts)
    boundary = f"dagflow-{hashlib.sha256(content).hexdigest()[:32]}"  # equal calls, equal bytes
    lines = b"".join(b"--" + boundary.encode() + b"\r\n" + part + b"\r\n" for part in parts)
    return (
        lines + b"--" + boundary.encode() + b"--\r\n",
        f"multipart/form-data; boundary={boundary}",
    )


def _parts(name: str, entry: JsonObject, value: JsonValue) -> Iterator[bytes]:
    values = value if isinstance(value, list) and not _as_json(entry, value) else [value]
    for item in values:
        yield _part(name, entry, item)


def _as_json(entry: JsonObject, value: list[JsonValue]) -> bool:
    return entry["kind"] == "json" or any(isinstance(item, dict | list) for item in value)


def _part(name: str, entry: JsonObject, value: JsonValue) -> bytes:
    kind, media_type = entry["kind"], str(entry["media_type"])
    quoted = quote(name, safe=" !#$&'()*+,-./:;<=>?@[]^_`{|}~")
    disposition = f'Content-Disposition: form-data; name="{quoted}"'
    if kind == "bytes":
        content, disposition = _decoded(value, name), f'{disposition}; filename="{quoted}"'
    elif kind == "json" or isinstance(value, dict | list):
        content, media_type = compact(value).encode(), media_type or "application/json"
    else:
        content = wire_text(value, name).encode()
    head = [disposition, *([f"Content-Type: {media_type}"] if media_type else [])]
    return "\r\n".join(head).encode() + b"\r\n\r\n" + content


_FORM_FIELD: Final[JsonObject] = {"style": "form", "explode": True}
_PART: Final[JsonObject] = {"kind": "auto", "media_type": ""}


def _entry(body: JsonObject, name: str, default: JsonObject) -> JsonObject:
    encoding = body.get("encoding")
    entry = encoding.get(name) if isinstance(encoding, dict) else None
    return entry if isinstance(entry, dict) else default


def _fields(value: JsonValue) -> list[tuple[str, JsonValue]]:
    if not isinstance(value, dict):
        raise StepError("schema", "the body of a form is an object")
    return list(value.items())


def _decoded(value: JsonValue, name: str) -> bytes:
    try:
        return base64.b64decode(wire_text(value, name), validate=True)
    except binascii.Error:
        raise StepError(
            "schema", f"{name!r} is not base64", remedy="bytes are given as base64 text"
        ) from None


_WRITERS: Final[Mapping[str, Callable[[JsonObject, JsonValue], tuple[bytes, str]]]] = {
    "json": _json, "form": _form, "multipart": _multipart, "text": _text, "bytes": _bytes,
}  # fmt: skip
