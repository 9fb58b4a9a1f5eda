"""The server of an operation: its base URL, whole and checked."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import urljoin, urlsplit

from dagflow.core.values import JsonObject, JsonValue
from dagflow.tools.refs import OperationRefusedError

SCHEMES: Final = frozenset({"http", "https"})


def base_url(levels: tuple[JsonValue, ...], *, location: str, override: str | None) -> str:
    """Return the absolute base URL of an operation, without a slash at its end.

    `levels` are the `servers` of the operation, its path and the document: the first non-empty
    one counts, and in it the first server. A relative URL is resolved against the document's own
    place when that is on the web. Raises `OperationRefusedError` when no whole URL comes of it.
    """
    if override is not None:
        return checked(override)
    server = _first(levels)
    url = _filled(server)
    if "://" not in url and location.startswith(("http://", "https://")):
        url = urljoin(location, url)
    if "://" not in url:
        raise OperationRefusedError(
            f"the server {url!r} is relative to where the document was published;"
            " give the tool a `server`"
        )
    return checked(url)


def checked(url: str) -> str:
    """Return a base URL without its last slash.

    Raises `OperationRefusedError` unless it is http(s) with a host, and has no user, query,
    fragment or left-over variable.
    """
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError as error:
        raise OperationRefusedError(f"the server {url!r} is not a URL: {error}") from None
    if parts.scheme not in SCHEMES or not host:
        raise OperationRefusedError(f"the server {url!r} is not an http or https URL")
    if "@" in parts.netloc:
        raise OperationRefusedError(f"the server {host!r} is given with a user; use `auth`")
    if parts.query or parts.fragment or re.search(r"[{}\s\\]", url):
        raise OperationRefusedError(f"the server {url!r} is not a plain base URL")
    return url.rstrip("/")


def _first(levels: tuple[JsonValue, ...]) -> JsonObject:
    for level in levels:
        if isinstance(level, list) and level and isinstance(level[0], dict):
            return level[0]
    return {"url": "/"}


def _filled(server: JsonObject) -> str:
    url = server.get("url")
    if not isinstance(url, str):
        raise OperationRefusedError("a server needs a url")
    variables = server.get("variables")
    known = variables if isinstance(variables, dict) else {}
    return re.sub(r"\{([^{}]+)\}", lambda match: _variable(match[1], known), url)


def _variable(name: str, known: JsonObject) -> str:
    declared = known.get(name)
    default = declared.get("default") if isinstance(declared, dict) else None
    if default is None or isinstance(default, dict | list):
        raise OperationRefusedError(f"the server's variable {name!r} has no default")
    allowed = declared.get("enum") if isinstance(declared, dict) else None
    if isinstance(allowed, list) and allowed and default not in allowed:
        raise OperationRefusedError(f"the server's variable {name!r} is not one of its values")
    return str(default)
