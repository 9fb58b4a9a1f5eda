"""Which named things an expression speaks of, read off its tokens before any type is known."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final

from dagflow.compiler.memory import Memory
from dagflow.core.records import dataclass
from dagflow.expr.lexer import Token, tokens

_FIELD: Final = frozenset({".", ".?"})
_INDEX: Final = frozenset({"[", "[?"})
_PLAIN_TEXT: Final = re.compile(r'"[^"\\\n]*"|\'[^\'\\\n]*\'')


@dataclass(frozen=True, slots=True)
class Mention:
    """`root.name` at `offset` (of the name, in code points); `name` is None for a bare root."""

    root: str
    name: str | None
    offset: int
    length: int


def mentions(text: str, roots: frozenset[str]) -> Iterator[Mention]:
    """Yield every use of one of the `roots`, with the name taken from it, in order."""
    if not any(root in text for root in roots):
        return
    found = tokens(text)
    for index, token in enumerate(found):
        if token.text in roots and token.kind == "name" and not _is_field(found, index):
            yield _mention(token, _below(found, index + 1))


def mentions_in(text: str, roots: frozenset[str], memory: Memory) -> tuple[Mention, ...]:
    """Return the mentions of a text, looked for once."""
    return memory.recall("mentions", (text, roots), lambda: tuple(mentions(text, roots)))


def _mention(root: Token, name: Token | None) -> Mention:
    if name is None:
        return Mention(root.text, None, root.start, len(root.text))
    quotes = 0 if name.kind == "name" else 1
    shown = name.text[quotes : len(name.text) - quotes]
    return Mention(root.text, shown, name.start + quotes, len(shown))


def _is_field(found: Sequence[Token], index: int) -> bool:
    """Tell whether a token stands behind `.` or `.?`."""
    before = "".join(token.text for token in found[max(index - 2, 0) : index])
    return before.endswith((".", ".?"))


def _below(found: Sequence[Token], at: int) -> Token | None:
    """Return the token that names what is taken from the value before: `.a`, `.?a` or `["a"]`."""
    mark, name, behind = _next_three(found, at)
    if mark in _FIELD and name is not None and name.kind in {"name", "quoted"}:
        return None if behind == "(" else name
    if mark in _INDEX and name is not None and behind == "]":
        return name if _PLAIN_TEXT.fullmatch(name.text) else None
    return None


def _next_three(found: Sequence[Token], at: int) -> tuple[str, Token | None, str]:
    """Return a mark, what follows it, and what follows that; `?` belongs to the mark before it."""
    items = islice(found, at, None)
    mark, name = next(items, None), next(items, None)
    if mark is not None and name is not None and name.text == "?":
        name = next(items, None)
    behind = next(items, None)
    return mark.text if mark else "", name, behind.text if behind else ""
