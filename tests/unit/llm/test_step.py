"""The llm step: what it asks, what it emits and counts, and what it makes of the answer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest

from dagflow.core.clock import FakeClock
from dagflow.core.errors import StepError
from dagflow.core.plan import PlanStep
from dagflow.core.values import JsonObject, JsonValue, Schema
from dagflow.executor.steps.base import Attempt
from dagflow.executor.steps.llm import work
from dagflow.llm.protocol import ChatChunk, ChatRequest, Message, Usage
from tests.unit.llm.fakes import FakeChat


class Context:
    """A `StepContext` that keeps what it is told."""

    def __init__(self, chat: FakeChat) -> None:
        self.clock = FakeClock()
        self.chat = chat
        self.tokens: list[str] = []
        self.used: dict[str, float] = {}
        self.route: tuple[str, JsonObject, str | None] = ("", {}, None)

    @property
    def services(self) -> Mapping[str, object]:
        return {"chat": self}

    @asynccontextmanager
    async def client(
        self, name: str, route: JsonObject, api_key: str | None
    ) -> AsyncIterator[FakeChat]:
        self.route = (name, route, api_key)
        yield self.chat

    def emit(self, kind: str, data: JsonObject) -> None:
        assert kind == "token"
        self.tokens.append(str(data["text"]))

    def use(self, **amounts: float) -> None:
        for name, amount in amounts.items():
            self.used[name] = self.used.get(name, 0) + amount

    def secret(self, name: str) -> str:
        raise AssertionError(name)

    def resolve_secrets(self, value: JsonValue) -> JsonValue:
        return "key of mine" if value == "a reference" else value

    def mask(self, value: JsonValue) -> JsonValue:
        return value


def attempt(schema: Schema | None = None, **body: Any) -> Attempt:
    step = PlanStep(
        path="grade", kind="llm", action="generate", effects="idempotent",
        output_schema=True if schema is None else schema,
        body={"model": "default", "max_tokens": 20, "temperature": 0.0, "top_p": None,
              "seed": None, "stop": [], "structured": schema is not None, **body},
    )  # fmt: skip
    messages: list[JsonValue] = [
        {"role": "system", "content": "be brief"}, {"role": "user", "content": "grade this"},
    ]  # fmt: skip
    return Attempt(
        run_id="r", root="r", path="grade", attempt=1, token=1, kind="llm", step=step,
        input={"with": None, "body": {"messages": messages}},
        models={"default": {"url": "http://x", "model": "m", "api_key": "a reference"}},
    )  # fmt: skip


def run(given: Attempt, chat: FakeChat) -> tuple[JsonValue, Context]:
    context = Context(chat)
    return asyncio.run(work(given, context)), context


def failed(given: Attempt, chat: FakeChat) -> tuple[StepError, Context]:
    context = Context(chat)
    with pytest.raises(StepError) as caught:
        asyncio.run(work(given, context))
    return caught.value, context


def answer(text: str, finish: str = "stop") -> FakeChat:
    half = len(text) // 2
    return FakeChat(
        ChatChunk(text[:half]), ChatChunk(text[half:], finish), ChatChunk("", None, Usage(7, 3))
    )


def test_without_a_declared_output_the_text_is_the_output() -> None:
    output, context = run(attempt(), answer("fine", "length"))

    assert output == {"text": "fine", "finish_reason": "length"}
    assert context.tokens == ["fi", "ne"]
    assert context.used == {"tokens": 10, "prompt_tokens": 7}
    assert context.route[0] == "default"
    assert context.route[2] == "key of mine"


def test_what_an_answer_costs_is_counted_where_the_model_has_a_price() -> None:
    given = attempt()
    priced = {**given.models["default"], "price": {"prompt": 0.1, "answer": 0.4}}

    _, context = run(replace(given, models={"default": priced}), answer("fine"))

    assert context.used == {"tokens": 10, "prompt_tokens": 7, "cost": 0.0000019}


def test_what_the_step_says_is_what_is_asked() -> None:
    chat = answer("3")
    given = attempt({"type": "integer"}, temperature=0.5, top_p=0.9, seed=4, stop=["END"])

    output, _ = run(given, chat)

    assert output == 3
    assert chat.request == ChatRequest(
        messages=(Message("system", "be brief"), Message("user", "grade this")),
        max_tokens=20, temperature=0.5, top_p=0.9, seed=4, stop=("END",),
        schema={"type": "integer"},
    )  # fmt: skip


def test_json_that_was_cut_is_a_failure_that_names_max_tokens() -> None:
    error, context = failed(attempt({"type": "object"}), answer('{"a": "b', "length"))

    assert error.error_class == "model"
    assert "max_tokens (20)" in str(error)
    assert context.used == {"tokens": 10, "prompt_tokens": 7}


@pytest.mark.parametrize("text", ["sure! {}", '{"a":1,"a":2}', "NaN", "9" * 30, ""])
def test_an_answer_that_is_not_the_json_asked_for_is_class_schema(text: str) -> None:
    error, _ = failed(attempt({"type": "object"}), answer(text))

    assert error.error_class == "schema"
    assert text[:20] in str(error)


def test_a_filtered_answer_is_class_model() -> None:
    error, _ = failed(attempt({"type": "object"}), answer("{}", "refused"))

    assert error.error_class == "model"


def test_tokens_of_an_answer_that_broke_off_are_counted_by_estimate() -> None:
    chat = FakeChat(ChatChunk("x" * 40), error=StepError("network", "gone"))

    error, context = failed(attempt(), chat)

    assert error.error_class == "network"
    assert context.used == {"tokens": 5 + 10, "prompt_tokens": 5}
