"""The head of a GGUF file: its metadata, and where each tensor lies."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

MAGIC: Final = 0x46554747
VERSIONS: Final = (2, 3)
MOST_ITEMS: Final = 10_000_000
_STRING, _ARRAY = 8, 9
_NUMBERS: Final[Mapping[int, str]] = {
    0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Place:
    """A tensor: its shape (rows first), GGUF's number of its type, and its first byte."""

    shape: tuple[int, ...]
    kind: int
    start: int


@dataclass(frozen=True, slots=True)
class Header:
    """What a file says about itself."""

    facts: Mapping[str, Any]
    tensors: Mapping[str, Place]


def read_header(data: memoryview) -> Header:
    """Read the head of a file. Raises `ValueError` when it is not what GGUF describes."""
    try:
        return _Reader(data).header()
    except (struct.error, KeyError, UnicodeDecodeError, OverflowError) as error:
        raise ValueError(f"its head is broken ({error})") from error


class _Reader:
    """A place in the file that moves on with every read."""

    def __init__(self, data: memoryview) -> None:
        self._data = data
        self._at = 0

    def header(self) -> Header:
        magic, version = self._take("II")
        if magic != MAGIC or version not in VERSIONS:
            raise ValueError("it does not begin as a GGUF file of version 2 or 3")
        tensors, facts = self._take("QQ")
        found = dict(self._fact() for _ in range(_counted(facts)))
        places = [self._place() for _ in range(_counted(tensors))]
        aligned = int(found.get("general.alignment", 32))
        base = -(-self._at // aligned) * aligned
        moved = {name: Place(p.shape, p.kind, base + p.start) for name, p in places}
        return Header(found, moved)

    def _take(self, form: str) -> tuple[Any, ...]:
        found = struct.unpack_from(f"<{form}", self._data, self._at)
        self._at += struct.calcsize(f"<{form}")
        return found

    def _text(self) -> str:
        (size,) = self._take("Q")
        end = self._at + size
        if end > len(self._data):
            raise ValueError("it ends inside a text")
        found = str(self._data[self._at : end], "utf-8")
        self._at = end
        return found

    def _fact(self) -> tuple[str, Any]:
        name = self._text()
        (kind,) = self._take("I")
        return name, self._reading(kind)()

    def _reading(self, kind: int) -> Callable[[], Any]:
        if kind == _STRING:
            return self._text
        if kind == _ARRAY:
            return self._array
        form = _NUMBERS[kind]
        return lambda: self._take(form)[0]

    def _array(self) -> list[Any]:
        kind, count = self._take("IQ")
        _counted(count)
        if kind in _NUMBERS:
            return list(self._take(f"{count}{_NUMBERS[kind]}"))
        read = self._reading(kind)
        return [read() for _ in range(count)]

    def _place(self) -> tuple[str, Place]:
        name = self._text()
        (dimensions,) = self._take("I")
        shape = self._take(f"{_counted(dimensions)}Q")
        kind, start = self._take("IQ")
        return name, Place(tuple(reversed(shape)), kind, start)


def _counted(count: int) -> int:
    if count > MOST_ITEMS:
        raise ValueError(f"it claims to hold {count} items")
    return count
