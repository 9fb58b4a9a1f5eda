"""Secrets, masked in everything that comes back from where they were used."""

from __future__ import annotations

import re
from functools import cache
from typing import Final

from dagflow.core.values import JsonValue
from dagflow.executor.steps.writings import SHORTEST, Writing, writings

MASK: Final = "***"

_LONGEST: Final = 40
"""Characters at the end of a text in which one character of a secret is looked for."""
_CUT_ESCAPE: Final = re.compile(r"(?:\\+|%|&)[\w#]{0,9}\Z")
"""What a cut may leave of the writing of one character."""


class Masker:
    """Replaces the secrets it was shown, in each of their `writings`."""

    def __init__(self) -> None:
        self._writings: tuple[Writing, ...] = ()
        self._signs: re.Pattern[str] | None = None

    def add(self, secret: str) -> None:
        """Mask this secret from now on."""
        found = {*self._writings, *writings(secret)}
        self._writings = tuple(sorted(found, key=lambda w: (-len(w.patterns), w.patterns)))
        signs = {sign for writing in found for sign in writing.signs}
        self._signs = re.compile("|".join(sorted(signs))) if signs else None

    def text(self, text: str) -> str:
        """Return the text without secrets."""
        lowered = text.lower()
        if self._signs is None or self._signs.search(lowered) is None:
            return text
        for writing in self._writings:
            if any(sign in lowered for sign in writing.signs):
                text = _compiled(writing.pattern).sub(MASK, text)
        return text

    def cut_text(self, text: str) -> str:
        """Return text that was cut at its end, and before each `…`, without secrets.

        What a cut has left of a secret there, four characters or more, is masked, too.
        """
        return "…".join(map(self._without_beginning, self.text(text).split("…")))

    def _without_beginning(self, piece: str) -> str:
        if len(piece) < SHORTEST:
            return piece
        left = max((_overlap(piece, writing) for writing in self._writings), default=0)
        return piece[: len(piece) - left] + MASK if left else piece

    def value(self, value: JsonValue) -> JsonValue:
        """Return the value without secrets, in keys and in texts."""
        if not self._writings:
            return value
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, list):
            return [self.value(item) for item in value]
        if isinstance(value, dict):
            return {self.text(key): self.value(item) for key, item in value.items()}
        return value


def _overlap(text: str, writing: Writing) -> int:
    """Return how many characters at the end of the text are the beginning of the writing."""
    begins = _compiled(f"(?={''.join(writing.patterns[:SHORTEST])})")
    near = max(0, len(text) - _LONGEST * len(writing.patterns))
    starts = (found.start() for found in begins.finditer(text, near))
    return next((len(text) - at for at in starts if _runs_out(text, at, writing)), 0)


def _runs_out(text: str, at: int, writing: Writing) -> bool:
    """Tell whether the text ends before the writing does that begins at `at`."""
    for pattern in writing.patterns:
        if at == len(text):
            return True
        found = _compiled(pattern).match(text, at)
        if found is None:
            return _CUT_ESCAPE.match(text, at) is not None
        at = found.end()
    return False


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)
