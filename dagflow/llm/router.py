"""Finds who answers for a model route of a plan: a server by its URL, or the local model."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from dagflow.core.errors import StepError, UnavailableError, UsageError
from dagflow.core.values import JsonObject
from dagflow.llm.client import OpenAIClient
from dagflow.llm.local import LocalModel
from dagflow.llm.protocol import ChatClient, HttpStream

LOCAL = "local"


class Router:
    """`ChatModels` over one transport.

    `routes` are the operator's: name → `{"url", "model", "api_key"}`, where `api_key` is the key
    itself. A route named `local` that isn't among them is the model of this machine.
    """

    def __init__(
        self,
        http: HttpStream,
        local: LocalModel | None = None,
        routes: Mapping[str, Mapping[str, str]] | None = None,
    ) -> None:
        self._http = http
        self._local = local
        self._routes = dict(routes or {})

    @asynccontextmanager
    async def client(
        self, name: str, route: JsonObject, api_key: str | None
    ) -> AsyncIterator[ChatClient]:
        """Give the client, as `ChatModels` promises."""
        model = _text(route, "model")
        url, via = _text(route, "url"), _text(route, "route") or LOCAL
        if url:
            yield OpenAIClient(self._http, url, model=model, api_key=api_key or "")
        elif via in self._routes:
            yield self._routed(self._routes[via], model, api_key)
        elif via == LOCAL and self._local is not None:
            yield await self._of_this_machine(self._local)
        else:
            known = ", ".join(sorted({*self._routes, *([LOCAL] if self._local else [])}))
            raise StepError(
                "model",
                f"the model {name!r} goes by the route {via!r}, which is not configured here",
                remedy=f"configured: {known or 'none'}; or give the model a url",
            )

    def _routed(self, route: Mapping[str, str], model: str, api_key: str | None) -> ChatClient:
        return OpenAIClient(
            self._http,
            route["url"],
            model=model or route.get("model", ""),
            api_key=api_key or route.get("api_key", ""),
        )

    async def _of_this_machine(self, local: LocalModel) -> ChatClient:
        try:
            address = await local.address()
        except (UsageError, UnavailableError) as error:
            raise StepError("model", error.message, remedy=error.remedy) from error
        return OpenAIClient(self._http, address.url, model=address.model, api_key=address.api_key)


def _text(route: JsonObject, name: str) -> str:
    value = route.get(name)
    return value if isinstance(value, str) else ""
