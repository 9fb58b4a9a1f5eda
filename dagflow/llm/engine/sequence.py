"""One generation as it grows: its prompt, its tokens, and why it ended."""

from __future__ import annotations

from collections.abc import Sequence as Listed
from dataclasses import dataclass, field
from typing import Protocol

from dagflow.llm.protocol import FinishReason, Usage


class Constraint(Protocol):
    """What a grammar allows next. It has a life: each token moves it on."""

    def begin(self) -> list[int]:
        """Move on by the tokens that every text begins with, and return them."""
        ...

    def allowed(self) -> bytes:
        """Return a bit for each token of the vocabulary, lowest first, set where it may come."""
        ...

    def take(self, token: int) -> list[int]:
        """Move on by `token`, and by the tokens that must follow it, which are returned."""
        ...

    @property
    def complete(self) -> bool:
        """Tell whether the text is whole and nothing may follow."""
        ...

    @property
    def may_end(self) -> bool:
        """Tell whether the text is whole as it stands."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """How a token is chosen. `temperature` 0 is greedy; equal seeds choose equally."""

    max_tokens: int
    temperature: float = 0.0
    top_p: float = 1.0
    seed: int = 0


@dataclass(slots=True)
class Sequence:
    """A prompt and what was generated after it.

    `done` counts the tokens that the runner has taken in, `cached` how many of those it still
    had from the request before.
    """

    prompt: Listed[int]
    sampling: Sampling
    constraint: Constraint | None = None
    tokens: list[int] = field(default_factory=list)
    done: int = 0
    cached: int = 0
    finish: FinishReason | None = None

    def __post_init__(self) -> None:
        self.tokens = list(self.prompt)

    @property
    def generated(self) -> int:
        """Return how many tokens came after the prompt."""
        return len(self.tokens) - len(self.prompt)

    @property
    def usage(self) -> Usage:
        """Return what the generation took so far."""
        return Usage(len(self.prompt), self.generated, self.cached)
