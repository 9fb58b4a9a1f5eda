"""Which server answers for a route."""

from __future__ import annotations

import asyncio

import pytest

from dagflow.core.errors import StepError, UsageError
from dagflow.core.values import JsonObject
from dagflow.llm.local import Address
from dagflow.llm.protocol import ChatRequest
from dagflow.llm.router import Router
from tests.unit.llm.fakes import FakeHttp, gathered

BODY = [b'data: {"choices":[{"delta":{"content":"x"},"finish_reason":"stop"}]}\n\n']


class FakeLocal:
    """A local model that is there, or is not."""

    def __init__(self, error: Exception | None = None) -> None:
        self._error = error

    async def address(self) -> Address:
        if self._error:
            raise self._error
        return Address("http://127.0.0.1:9/v1", "small", "secret")


def asked(route: JsonObject, key: str | None = None, **how) -> FakeHttp:
    http = FakeHttp([*BODY])

    async def scene() -> None:
        async with Router(http, **how).client("default", route, key) as client:
            await gathered(client.stream(ChatRequest(messages=())))

    asyncio.run(scene())
    return http


def test_a_url_is_asked_with_its_model_and_key() -> None:
    http = asked({"url": "http://far", "model": "m", "route": None, "api_key": None}, "k")

    assert http.url == "http://far/v1/chat/completions"
    assert http.body["model"] == "m"
    assert http.headers["authorization"] == "Bearer k"


@pytest.mark.parametrize("route", [{"route": "local"}, {}, {"route": None, "url": None}])
def test_a_route_that_says_nothing_is_the_local_model(route: JsonObject) -> None:
    http = asked(route, local=FakeLocal())

    assert http.url == "http://127.0.0.1:9/v1/chat/completions"
    assert http.headers["authorization"] == "Bearer secret"


def test_an_operators_route_goes_before_the_local_model() -> None:
    routes = {"local": {"url": "http://gpu", "model": "big", "api_key": "op"}}

    http = asked({"route": "local"}, local=FakeLocal(), routes=routes)

    assert http.url == "http://gpu/v1/chat/completions"
    assert http.body["model"] == "big"
    assert http.headers["authorization"] == "Bearer op"


def test_an_unknown_route_says_which_there_are() -> None:
    with pytest.raises(StepError, match="'fast', which is not configured") as caught:
        asked({"route": "fast"}, local=FakeLocal(), routes={"big": {"url": "http://x"}})

    assert caught.value.error_class == "model"
    assert "big, local" in caught.value.remedy


def test_a_model_that_is_not_installed_fails_the_step_with_the_remedy() -> None:
    missing = UsageError("not installed", remedy="pip install it")

    with pytest.raises(StepError, match="not installed") as caught:
        asked({}, local=FakeLocal(missing))

    assert caught.value.error_class == "model"
    assert caught.value.remedy == "pip install it"
