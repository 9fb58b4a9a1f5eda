"""Grammars from JSON Schemas by llguidance, as constraints of a sequence."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, Final

from dagflow.core.errors import StepError, UsageError
from dagflow.core.values import Schema
from dagflow.llm.grammar import prepare, unsupported
from dagflow.llm.tokenizer import Tokenizer

_OPTIONS: Final[Any] = {"whitespace_flexible": False, "coerce_one_of": True}
"""Compact JSON; `oneOf` is decoded as `anyOf`, and whoever asked checks the answer."""


class Grammars:
    """Compiles schemas for one tokenizer."""

    def __init__(self, tokenizer: Tokenizer, size: int, ends: Sequence[int]) -> None:
        self._tokenizer = tokenizer
        self._size = size
        self._ends = list(ends)

    @cached_property
    def _vocabulary(self) -> Any:
        from llguidance import LLTokenizer

        slices = LLTokenizer.json_slices()
        return LLTokenizer(
            self._tokenizer.to_json(), n_vocab=self._size, eos_token=self._ends, slices=slices
        )

    def compile(self, schema: Schema) -> Matcher:
        """Return the constraint. Raises `UsageError` naming what decoding can't be held to."""
        from llguidance import LLMatcher

        refused = unsupported(schema)
        if refused:
            raise UsageError(
                f"the model's output can't be held to {', '.join(refused)} of the schema",
                remedy="leave it out of the schema, and check it in a later step",
            )
        try:
            grammar = LLMatcher.grammar_from_json_schema(prepare(schema).schema, defaults=_OPTIONS)
        except ValueError as error:
            raise UsageError(f"the schema can't be read: {error}") from error
        matcher = LLMatcher(self._vocabulary, grammar, log_level=0)
        if matcher.is_error():
            raise UsageError(f"the model's output can't be held to the schema: {_said(matcher)}")
        return Matcher(matcher)


class Matcher:
    """A `Constraint` over one llguidance matcher."""

    def __init__(self, matcher: Any) -> None:
        self._matcher = matcher

    def begin(self) -> list[int]:
        """Return the tokens that every text begins with, as `Constraint` promises."""
        return self._forced()

    def allowed(self) -> bytes:
        """Return a bit for each token, as `Constraint` promises."""
        mask: bytes = self._matcher.compute_bitmask()
        self._check()
        return mask

    def take(self, token: int) -> list[int]:
        """Move on by `token` and what it forces, as `Constraint` promises."""
        self._matcher.consume_token(token)
        return self._forced()

    def _forced(self) -> list[int]:
        forced: list[int] = self._matcher.compute_ff_tokens()
        if forced:
            self._matcher.consume_tokens(forced)
        self._check()
        return forced

    @property
    def complete(self) -> bool:
        """Tell whether nothing may follow."""
        return bool(self._matcher.is_stopped())

    @property
    def may_end(self) -> bool:
        """Tell whether the text is whole as it stands."""
        return bool(self._matcher.is_accepting())

    def _check(self) -> None:
        if self._matcher.is_error():
            raise StepError("model", f"the grammar of the output broke: {_said(self._matcher)}")


def _said(matcher: Any) -> str:
    return " ".join(str(matcher.get_error()).split())[:300]
