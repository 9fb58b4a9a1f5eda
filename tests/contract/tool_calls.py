"""Calling one small operation against a server, in one line."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from dagflow.core.tool import Operation
from dagflow.tools.call import call
from dagflow.tools.document import load_tool
from dagflow.tools.egress import Egress
from dagflow.tools.http import PooledClient

T = TypeVar("T")
LOOPBACK = Egress(loopback=True)
KEY = "key-1"


def compiled(
    declared: dict[str, Any],
    url: str,
    *,
    path: str = "/x",
    method: str = "get",
    version: str = "3.1.0",
    **more: Any,
) -> Operation:
    root = {
        "openapi": version,
        "info": {"title": "t", "version": "1"},
        "servers": [{"url": url}],
        "paths": {path: {method: {"responses": {"204": {}}, **declared}}},
        **more,
    }
    made = load_tool("t", json.dumps(root), location="t.json")
    id_ = f"t.{method.upper()} {path}"
    assert id_ not in made.refusals, made.refusals[id_]
    return made.operations[id_]


def with_client(use: Callable[[PooledClient], Awaitable[T]], **settings: Any) -> T:
    """Run something with a client that is closed after."""

    async def whole() -> T:
        client = PooledClient(**settings)
        try:
            return await use(client)
        finally:
            await client.close()

    return asyncio.run(whole())


def called(operation: Operation, arguments: dict[str, Any] | None = None, **options: Any) -> Any:
    """Call once with a fresh client; `client=` are its settings."""
    settings = options.pop("client", {})
    given = {
        "secrets": lambda name: {"TOKEN": "s3cret", "PAIR": "ann:pass word"}[name],
        "auth": {},
        "timeout": 5.0,
        "idempotency_key": KEY,
        "egress": LOOPBACK,
        **options,
    }
    return with_client(
        lambda http: call(operation.wire, arguments or {}, http=http, **given), **settings
    )


def parameter(name: str, schema: Any, place: str = "query", **more: Any) -> dict[str, Any]:
    return {"name": name, "in": place, "schema": schema, **more}


def query_operation(url: str, *parameters: dict[str, Any], **more: Any) -> Operation:
    return compiled({"parameters": list(parameters)}, url, **more)
