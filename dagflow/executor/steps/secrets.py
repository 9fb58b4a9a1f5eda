"""Secrets, masked in everything that comes back from where they were used."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from typing import Final
from urllib.parse import quote, quote_plus

from dagflow.core.values import JsonValue

MASK: Final = "***"
_SHORTEST: Final = 4
"""A shorter secret hides nothing and would blank out ordinary text."""


class Masker:
    """Replaces the secrets it was shown, however they are written.

    Known ways: as they are, in base64 (also inside longer text that was encoded whole, at each of
    its three alignments), percent-encoded, in upper or lower case, and escaped as in JSON.
    """

    def __init__(self) -> None:
        self._known: set[str] = set()
        self._forms: list[str] = []
        self._pattern: re.Pattern[str] | None = None

    def add(self, secret: str) -> None:
        """Mask this secret from now on."""
        if len(secret) >= _SHORTEST and secret not in self._known:
            self._known.add(secret)
            forms = {form for known in self._known for form in _forms(known)}
            self._forms = sorted(forms, key=lambda form: (-len(form), form))
            self._pattern = re.compile("|".join(map(re.escape, self._forms)))

    def text(self, text: str) -> str:
        """Return the text without secrets."""
        return text if self._pattern is None else self._pattern.sub(MASK, text)

    def cut_text(self, text: str) -> str:
        """Return text that was cut at its end, and before each `…`, without secrets.

        What a cut has left of a secret there, four characters or more, is masked, too.
        """
        return "…".join(map(self._without_beginning, self.text(text).split("…")))

    def _without_beginning(self, piece: str) -> str:
        left = max((_overlap(piece, form) for form in self._forms), default=0)
        return piece[: len(piece) - left] + MASK if left else piece

    def value(self, value: JsonValue) -> JsonValue:
        """Return the value without secrets, in keys and in texts."""
        if self._pattern is None:
            return value
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, list):
            return [self.value(item) for item in value]
        if isinstance(value, dict):
            return {self.text(key): self.value(item) for key, item in value.items()}
        return value


def _overlap(text: str, form: str) -> int:
    """Return how many characters at the end of the text are the beginning of the form."""
    lengths = range(min(len(text), len(form) - 1), _SHORTEST - 1, -1)
    return next((n for n in lengths if text.endswith(form[:n])), 0)


def _forms(secret: str) -> Iterator[str]:
    """Yield the ways in which a secret may be written."""
    for plain in (secret, secret.upper(), secret.lower()):
        yield plain
        yield quote(plain, safe="")
        yield quote_plus(plain)
        yield json.dumps(plain)[1:-1]
        yield json.dumps(plain, ensure_ascii=False)[1:-1]
    yield from (form for form in _base64(secret.encode()) if len(form) >= _SHORTEST)


def _base64(data: bytes) -> Iterator[str]:
    """Yield the base64 characters that are the same whatever stands before and after the data."""
    for before in range(3):
        coded = base64.b64encode(b"\0" * before + data).decode().rstrip("=")
        first = (before * 8 + 5) // 6
        last = (before + len(data)) * 8 // 6
        yield coded[first:last]
        yield coded[first:last].replace("+", "-").replace("/", "_")
    yield base64.b64encode(data).decode()
    yield base64.urlsafe_b64encode(data).decode()
