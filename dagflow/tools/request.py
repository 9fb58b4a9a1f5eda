"""A request built from an operation and its arguments; credentials come after."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import field
from typing import Final
from urllib.parse import quote, urlsplit

from dagflow.core.errors import StepError
from dagflow.core.records import dataclass
from dagflow.core.values import JsonObject, JsonValue
from dagflow.tools.http import Request
from dagflow.tools.payload import payload
from dagflow.tools.serialise import Pairs, header_text, pairs_of, path_text
from dagflow.version import VERSION

PURE_METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})
_LITERAL: Final = "/:@!$&'()*+,;=%~-._"


@dataclass(slots=True)
class Draft:
    """A request in the making: queries and cookies as encoded pairs, headers as text."""

    method: str
    base: str
    path: str
    query: Pairs = field(default_factory=list)
    headers: Pairs = field(default_factory=list)
    cookies: Pairs = field(default_factory=list)
    content: bytes | None = None

    def request(self) -> Request:
        """Return the request as it will be sent."""
        query = "&".join(f"{name}={value}" for name, value in self.query)
        url = f"{self.base}{self.path}{f'?{query}' if query else ''}"
        cookie = "; ".join(f"{name}={value}" for name, value in self.cookies)
        headers = [*self.headers, *([("cookie", cookie)] if cookie else [])]
        return Request(method=self.method, url=url, headers=tuple(headers), content=self.content)


def draft(wire: JsonObject, arguments: JsonObject, *, idempotency_key: str) -> Draft:
    """Build the request that `arguments` (groups path, query, header, cookie, body) ask for.

    Raises `StepError` (schema) for a value without a form on the wire, and for a path that would
    no longer be this operation's.
    """
    parameters = _objects(wire["parameters"])
    found = Draft(method=str(wire["method"]), base=str(wire["server"]), path=_path(wire, arguments))
    for parameter, value in _given(parameters, arguments, {"query"}):
        found.query += pairs_of(parameter, value)
    for parameter, value in _given(parameters, arguments, {"cookie"}):
        found.cookies += pairs_of(parameter, value)
    for parameter, value in _given(parameters, arguments, {"header"}):
        found.headers.append((str(parameter["name"]), header_text(parameter, value)))
    _add_body(found, wire, arguments)
    _add_fixed(found, wire, idempotency_key)
    return found


def _objects(value: JsonValue) -> list[JsonObject]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _given(
    parameters: Iterable[JsonObject], arguments: JsonObject, places: set[str]
) -> Iterator[tuple[JsonObject, JsonValue]]:
    """Yield the parameters that were given; a null that the schema allows is left out."""
    for parameter in parameters:
        group = arguments.get(str(parameter["in"]))
        if parameter["in"] in places and isinstance(group, dict):
            value = group.get(str(parameter["name"]))
            if value is not None:
                yield parameter, value


def _path(wire: JsonObject, arguments: JsonObject) -> str:
    template = str(wire["path"])
    given = _given(_objects(wire["parameters"]), arguments, {"path"})
    texts = {str(parameter["name"]): path_text(parameter, value) for parameter, value in given}
    parts = re.split(r"\{([^{}]+)\}", template)
    missing = [name for name in parts[1::2] if name not in texts]
    if missing:
        raise StepError("schema", f"path argument {missing[0]!r} is missing or null")
    written = [texts[p] if i % 2 else quote(p, safe=_LITERAL) for i, p in enumerate(parts)]
    path = "".join(written)
    _check_path(template, parts, path)
    return path


def _check_path(template: str, parts: list[str], path: str) -> None:
    """Make sure that what will be requested is still this operation's path."""
    pattern = "".join(
        "[^/]+" if i % 2 else re.escape(quote(p, safe=_LITERAL)) for i, p in enumerate(parts)
    )
    dotted = any(segment in {".", ".."} for segment in path.split("/"))
    if dotted or re.fullmatch(pattern, path) is None:
        raise StepError("schema", f"the arguments lead away from the path {template}")


def _add_body(found: Draft, wire: JsonObject, arguments: JsonObject) -> None:
    body = wire.get("body")
    if isinstance(body, dict) and "body" in arguments:
        found.content, content_type = payload(body, arguments["body"])
        found.headers.append(("Content-Type", content_type))
    elif found.method not in PURE_METHODS | {"DELETE"}:
        found.content = b""


def _add_fixed(found: Draft, wire: JsonObject, idempotency_key: str) -> None:
    found.headers.append(("Accept", _accept(wire)))
    found.headers.append(("User-Agent", f"dagflow/{VERSION}"))
    key_header = str(wire.get("idempotency_header") or "")
    given = {name.lower() for name, _ in found.headers}
    if key_header and key_header.lower() not in given and found.method not in PURE_METHODS:
        found.headers.append((key_header, idempotency_key))


def _accept(wire: JsonObject) -> str:
    responses = wire["responses"]
    assert isinstance(responses, dict)
    types = [
        str(response["media_type"])
        for response in responses.values()
        if isinstance(response, dict) and response["media_type"]
    ]
    return ", ".join(dict.fromkeys(types)) or "*/*"


def origin_of(url: str) -> str:
    """Return scheme, host and port of a URL, for messages: nothing secret is in them."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
