"""What an operation asks of its caller: alternatives, each a set of schemes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from dagflow.core.pointers import under
from dagflow.core.values import JsonObject, JsonValue
from dagflow.tools.refs import OperationRefusedError, Resolver

SCHEMES_AT: Final = "/components/securitySchemes"


def compile_security(resolver: Resolver, own: JsonValue, root: JsonValue) -> list[JsonValue]:
    """Return the alternatives (OR) of schemes (AND); an empty list is a call without credentials.

    An operation's own list replaces the document's, an empty one included. Raises
    `OperationRefusedError` when no alternative can be met by a program on its own.
    """
    listed = own if isinstance(own, list) else root
    if not isinstance(listed, list) or not listed:
        return [[]]
    found, reasons = [], []
    for requirement in listed:
        try:
            found.append(list(_schemes(resolver, requirement)))
        except OperationRefusedError as error:
            reasons.append(error.message)
    if not found:
        raise OperationRefusedError("; ".join(reasons))
    return [*found]


def _schemes(resolver: Resolver, requirement: JsonValue) -> Iterator[JsonValue]:
    if not isinstance(requirement, dict):
        raise OperationRefusedError("a security requirement is an object")
    for name, scopes in requirement.items():
        raw = resolver.lookup(under(SCHEMES_AT, name))
        scheme, at = resolver.follow(raw, SCHEMES_AT)
        if not isinstance(scheme, dict):
            raise OperationRefusedError(f"the security scheme {name!r} is not an object", at)
        yield {"scheme": name, **_wire(name, scheme, scopes)}


def _wire(name: str, scheme: JsonObject, scopes: JsonValue) -> JsonObject:
    kind = scheme.get("type")
    if kind == "apiKey" and scheme.get("in") in ("header", "query", "cookie"):
        return {"type": "apiKey", "in": scheme["in"], "name": str(scheme.get("name"))}
    if kind == "http":
        return _http(name, str(scheme.get("scheme", "")).lower())
    if kind == "oauth2":
        return _oauth2(scheme, scopes)
    if kind == "openIdConnect":
        return {"type": "bearer"}
    raise OperationRefusedError(f"the security scheme {name!r} ({kind}) is not supported")


def _http(name: str, scheme: str) -> JsonObject:
    if scheme in {"basic", "bearer"}:
        return {"type": scheme}
    raise OperationRefusedError(f"the security scheme {name!r} (http {scheme}) is not supported")


def _oauth2(scheme: JsonObject, scopes: JsonValue) -> JsonObject:
    """Client credentials where offered; otherwise the bound secret is a token got elsewhere."""
    flows = scheme.get("flows")
    flow = flows.get("clientCredentials") if isinstance(flows, dict) else None
    if not isinstance(flow, dict) or not isinstance(flow.get("tokenUrl"), str):
        return {"type": "bearer"}
    asked = scopes if isinstance(scopes, list) else []
    return {"type": "oauth2", "token_url": flow["tokenUrl"], "scopes": asked}
