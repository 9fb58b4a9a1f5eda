"""References to secrets: the text that stands for a secret until a worker puts its value there.

Data can't spell one. Where text becomes part of a value in which references stand, each U+E000
that it holds itself is written with a U+E002 after it, and `resolved` takes that out again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Final

from dagflow.core.values import JsonValue

SECRET_KINDS: Final = frozenset({"tool", "python", "shell"})
"""The kinds of step in whose templates references stand."""
_MARK: Final = "\ue000"
_OWN: Final = "\ue000\ue002"
_FOUND: Final = re.compile("\ue000(?:secret:([A-Za-z_][A-Za-z0-9_-]*)\ue001|\ue002)")


def reference(name: str) -> str:
    """Return the text that stands for a secret."""
    return f"\ue000secret:{name}\ue001"


def references(value: JsonValue) -> set[str]:
    """Return the names of the secrets that a value refers to."""
    if isinstance(value, str):
        return {name for name in _FOUND.findall(value) if name}
    return {name for item in _within(value) for name in references(item)}


def guarded(value: JsonValue) -> JsonValue:
    """Return data as it is written beside references, so that nothing in it is taken for one.

    A value without U+E000 is given back itself. Keys are left alone: no reference stands there.
    """
    if isinstance(value, str):
        return guarded_text(value)
    if not _is_marked(value):
        return value
    return _mapped(value, guarded)


def guarded_text(text: str) -> str:
    """Return text as `guarded` writes it."""
    return text.replace(_MARK, _OWN)


def resolved(value: JsonValue, secret: Callable[[str], str]) -> JsonValue:
    """Return the value with each reference replaced by what `secret` gives for its name.

    What `guarded` wrote is data as it was again.
    """
    if isinstance(value, str):
        return _FOUND.sub(lambda found: secret(found[1]) if found[1] else _MARK, value)
    return _mapped(value, lambda item: resolved(item, secret))


def _is_marked(value: JsonValue) -> bool:
    return _MARK in value if isinstance(value, str) else any(map(_is_marked, _within(value)))


def _within(value: JsonValue) -> Iterable[JsonValue]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def _mapped(value: JsonValue, change: Callable[[JsonValue], JsonValue]) -> JsonValue:
    if isinstance(value, list):
        return [change(item) for item in value]
    if isinstance(value, dict):
        return {key: change(item) for key, item in value.items()}
    return value
