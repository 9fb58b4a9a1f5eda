"""What was recorded, in a file: JSON Lines, one window of time a line."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import fields
from math import isfinite
from pathlib import Path
from typing import Final

from dagflow.core.errors import UsageError
from dagflow.core.site import Used, Window
from dagflow.core.values import JsonObject, JsonValue

PARTS: Final = ("steps", "operations", "models", "waits")
MAX_HISTORY: Final = 64 * 1024 * 1024
USED: Final = "used"
_KEYS: Final = frozenset({"at", *PARTS, USED})
_COUNTS: Final = tuple(field.name for field in fields(Used))


def write_history(windows: Iterable[tuple[str, Window]]) -> str:
    """Return the text of a history: each window with the instant of its begin."""
    lines = []
    for at, window in windows:
        parts = {name: dict(sorted(getattr(window, name).items())) for name in PARTS}
        used = {step: _counts(each) for step, each in sorted(window.used.items())}
        kept = {"at": at, **{name: part for name, part in parts.items() if part}}
        kept |= {USED: used} if used else {}
        lines.append(json.dumps(kept, ensure_ascii=False, separators=(",", ":")) + "\n")
    return "".join(lines)


def _counts(used: Used) -> dict[str, int]:
    return {name: count for name in _COUNTS if (count := getattr(used, name))}


def read_history(path: str) -> tuple[Window, ...]:
    """Read a history, in its order. Raises `UsageError` with the line and what is wrong."""
    try:
        if Path(path).stat().st_size > MAX_HISTORY:
            raise UsageError(f"{path} is larger than 64 MiB", remedy="record fewer windows")
        text = Path(path).read_text("utf-8")
    except OSError as error:
        remedy = "`dagflow history -o FILE` writes one"
        raise UsageError(f"{path} can't be read: {error.strerror}", remedy=remedy) from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is no UTF-8 text") from error
    return parse_history(text, path)


def parse_history(text: str, name: str) -> tuple[Window, ...]:
    """Read the text of a history. Raises `UsageError` as `read_history` does."""
    lines = enumerate(text.splitlines(), start=1)
    return tuple(_window(line, f"{name}:{number}") for number, line in lines if line.strip())


def _window(line: str, place: str) -> Window:
    try:
        value = json.loads(line)
    except ValueError as error:
        raise UsageError(f"{place}: no JSON: {error}") from None
    if not isinstance(value, dict):
        raise UsageError(f"{place}: a window is an object with {', '.join((*PARTS, USED))}")
    unknown = sorted(value.keys() - _KEYS)
    if unknown:
        raise UsageError(f"{place}: a window has no key {unknown[0]!r}")
    parts = {name: _part(value, name, place) for name in PARTS if name in value}
    return Window(**parts, used=_used(value.get(USED, {}), place))


def _used(part: JsonValue, place: str) -> dict[str, Used]:
    if not isinstance(part, dict):
        raise UsageError(f"{place}: `{USED}` is an object of steps and what they used")
    return {step: _of_step(counts, f"{place}: `{USED}.{step}`") for step, counts in part.items()}


def _of_step(counts: JsonValue, place: str) -> Used:
    """Read what a step used; what makes no sense is refused."""
    if not isinstance(counts, dict) or not counts.keys() <= set(_COUNTS):
        raise UsageError(f"{place} is an object with {', '.join(_COUNTS)}")
    found = Used(**{name: _count(count, place) for name, count in counts.items()})
    if not found.runs or found.prompt_tokens > found.tokens:
        raise UsageError(f"{place} is of 1 run or more, and of its tokens are `prompt_tokens`")
    return found


def _count(count: JsonValue, place: str) -> int:
    if not isinstance(count, int) or isinstance(count, bool) or count < 0:
        raise UsageError(f"{place} has whole numbers, each 0 or more")
    return count


def _part(window: JsonObject, name: str, place: str) -> dict[str, tuple[float, ...]]:
    part = window[name]
    if not isinstance(part, dict):
        raise UsageError(f"{place}: `{name}` is an object of names and lists of seconds")
    return {key: _samples(value, f"{place}: `{name}.{key}`") for key, value in part.items()}


def _samples(value: JsonValue, place: str) -> tuple[float, ...]:
    if not isinstance(value, list) or not all(_is_time(item) for item in value):
        raise UsageError(f"{place} is a list of seconds, each 0 or more")
    return tuple(float(item) for item in value if isinstance(item, int | float))


def _is_time(item: JsonValue) -> bool:
    if isinstance(item, bool) or not isinstance(item, int | float):
        return False
    return isfinite(item) and item >= 0
