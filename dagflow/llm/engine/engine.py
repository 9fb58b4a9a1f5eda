"""Answers chats on this machine: from a request to a sequence, and on to its text."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Protocol

from dagflow.core.errors import UsageError
from dagflow.core.values import Schema
from dagflow.llm.engine.generate import Runner, generate
from dagflow.llm.engine.scheduler import Scheduler
from dagflow.llm.engine.sequence import Constraint, Sampling
from dagflow.llm.engine.sequence import Sequence as Generation
from dagflow.llm.engine.text import TextStream
from dagflow.llm.protocol import ChatChunk, ChatRequest, Message


class Prompts(Protocol):
    """Turns messages into tokens."""

    def tokens(self, messages: Sequence[Message]) -> list[int]:
        """Return the prompt. Raises `UsageError` for a chat that the model can't be asked."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Language:
    """What the engine must know of a model's language; `constrain` compiles a schema."""

    context: int
    ends: frozenset[int]
    prompts: Prompts
    token_bytes: Callable[[int], bytes]
    constrain: Callable[[Schema], Constraint]


class Engine:
    """A `ChatClient` over a runner in this process."""

    def __init__(self, language: Language, runner: Runner, scheduler: Scheduler) -> None:
        self._language = language
        self._runner = runner
        self._scheduler = scheduler

    async def stream(self, request: ChatRequest) -> AsyncGenerator[ChatChunk, None]:
        """Yield the answer as it comes, as `ChatClient` promises."""
        steps = await self.admit(request)
        async with aclosing(self.run(steps)) as chunks:
            async for chunk in chunks:
                yield chunk

    async def admit(self, request: ChatRequest) -> Iterator[ChatChunk]:
        """Check a request and return its steps, not begun yet, for `run`.

        Raises `UsageError` for a request that can never be answered as asked (a prompt and
        answer longer than the context, a schema that decoding can't keep), `UnavailableError`
        when the queue is full.
        """
        self._scheduler.check()
        return await asyncio.to_thread(self._steps, request)

    def run(self, steps: Iterator[ChatChunk]) -> AsyncGenerator[ChatChunk, None]:
        """Yield the chunks of an admitted request; closing the generator stops it."""
        return self._scheduler.stream(steps)

    def _steps(self, request: ChatRequest) -> Iterator[ChatChunk]:
        language = self._language
        prompt = language.prompts.tokens(request.messages)
        _check_length(len(prompt), request.max_tokens, language.context)
        constraint = None if request.schema is None else language.constrain(request.schema)
        sequence = Generation(prompt, _sampling(request), constraint)
        text = TextStream(request.stop)
        return generate(self._runner, sequence, text, language.ends, language.token_bytes)


def _check_length(prompt: int, answer: int, context: int) -> None:
    if prompt + answer > context:
        raise UsageError(
            f"the prompt has {prompt} tokens and the answer may have {answer}: together more "
            f"than the model's context of {context}",
            remedy="shorten the prompt or lower max_tokens; nothing is cut silently",
        )


def _sampling(request: ChatRequest) -> Sampling:
    # a request without a seed asks for a new answer each time
    seed = secrets.randbits(63) if request.seed is None else request.seed % 2**63
    return Sampling(
        max_tokens=request.max_tokens,
        temperature=request.temperature,
        top_p=request.top_p,
        seed=seed,
    )
