"""How long the prompt of an llm step can be."""

from __future__ import annotations

from typing import Final

from dagflow.compiler.model import StepFacts, Typed
from dagflow.core.plan import Literal_

CHARACTERS: Final = 4
"""How many characters a token stands for in ordinary English text; other text takes more tokens,
so that a prompt that is said to fit by this measure may still not."""

_PARTS: Final = ("system", "prompt", "messages.")


def parts_of(facts: StepFacts) -> list[Typed]:
    """Return the texts that make the prompt of an llm step."""
    return [typed for name, typed in facts.templates.items() if name.startswith(_PARTS)]


def longest(part: Typed) -> int | None:
    """Return how many characters a part of a prompt has at most, None where nothing bounds it."""
    if isinstance(part.value, Literal_):
        return len(str(part.value.literal))
    bound = part.schema.get("maxLength") if isinstance(part.schema, dict) else None
    return bound if isinstance(bound, int) else None


def known_length(part: Typed) -> int:
    """Return how many characters a part of a prompt may have, as far as that is bounded."""
    most = longest(part)
    if most is not None:
        return most
    least = part.schema.get("minLength", 0) if isinstance(part.schema, dict) else 0
    return least if isinstance(least, int) else 0


def tokens_in(characters: int) -> int:
    """Return how many tokens so many characters are taken for."""
    return -(-characters // CHARACTERS)
