"""Text from outside made safe to show on a terminal or in a page."""

from __future__ import annotations

import re
from typing import Final

# Control characters (except tab and newline), and the marks that turn the direction of text.
UNSAFE: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def clean(text: str) -> str:
    """Return `text` with every character that could command a terminal shown as an escape."""
    return UNSAFE.sub(lambda match: f"\\x{ord(match[0]):02x}", text)


def counted(count: int, word: str) -> str:
    """Return a number with its word, which gets an s where there isn't one of it."""
    return f"{count:,} {word}" if count == 1 else f"{count:,} {word}s"


def sized(count: float) -> str:
    """Return a number of bytes in the unit that reads best."""
    for unit, size in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if count >= size:
            return f"{count / size:.4g} {unit}"
    return f"{count:g} B"


def abridged(text: str, most: int = 400) -> str:
    """Return `text`, or its two ends and how much is left out when it is longer than `most`."""
    if len(text) <= most:
        return text
    half = most // 2
    return f"{text[:half]} … {len(text) - 2 * half:,} more characters … {text[-half:]}"
