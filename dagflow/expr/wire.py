"""The wire format of `cel.expr.Expr`: what the CEL library's parser gives and its planner takes.

Read and written by hand: the messages are seven small ones, and building protobuf classes for
them would cost 50 ms at start-up. Field numbers are those of cel-spec's `syntax.proto`.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from dagflow.core.errors import BugError

TYPE_URL = "type.googleapis.com/cel.expr.ParsedExpr"
_VARINT, _FIXED64, _BYTES = 0, 1, 2

Raw: TypeAlias = "int | bytes"


@dataclass(frozen=True, slots=True)
class Wire:
    """One decoded message: its fields by number, each with every value it was given."""

    fields: dict[int, list[Raw]] = field(default_factory=dict)

    def message(self, number: int) -> Wire | None:
        """Return a nested message, or None where it is absent."""
        found = self.fields.get(number)
        return decode(_as_bytes(found[-1])) if found else None

    def messages(self, number: int) -> tuple[Wire, ...]:
        """Return a repeated nested message."""
        return tuple(decode(_as_bytes(item)) for item in self.fields.get(number, ()))

    def text(self, number: int) -> str:
        """Return a string field, "" where it is absent."""
        return self.data(number).decode()

    def data(self, number: int) -> bytes:
        """Return a bytes field, empty where it is absent."""
        found = self.fields.get(number)
        return _as_bytes(found[-1]) if found else b""

    def number(self, number: int) -> int:
        """Return an int64 field, 0 where it is absent."""
        found = self.fields.get(number)
        value = found[-1] if found else 0
        if not isinstance(value, int):
            raise BugError("a message of the CEL library could not be read")
        return value - (1 << 64) if value >= 1 << 63 else value

    def numbers(self, number: int) -> tuple[int, ...]:
        """Return a repeated integer field, packed or not."""
        found: list[int] = []
        for item in self.fields.get(number, ()):
            found.extend([item] if isinstance(item, int) else _unpacked(item))
        return tuple(found)


def decode(data: bytes) -> Wire:
    """Split one message into its fields."""
    fields: dict[int, list[Raw]] = {}
    at, end = 0, len(data)
    while at < end:
        tag = data[at]  # every field number here is below 16, so a tag is one byte
        value: Raw
        if tag & 7 == _BYTES:
            length, at = _varint(data, at + 1)
            value = data[at : at + length]
            at += length
        elif tag & 7 == _VARINT:
            value, at = _varint(data, at + 1)
        else:
            value, at = data[at + 1 : at + 9], at + 9
            _check_fixed(tag)
        fields.setdefault(tag >> 3, []).append(value)
    return Wire(fields)


def _check_fixed(tag: int) -> None:
    if tag & 7 != _FIXED64 or tag > 0x7F:  # noqa: PLR2004
        raise BugError(f"a message of the CEL library has the unknown tag {tag}")


def _varint(data: bytes, at: int) -> tuple[int, int]:
    byte = data[at]
    if byte < 0x80:  # noqa: PLR2004  # the top bit says that more follows
        return byte, at + 1
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:  # noqa: PLR2004
            return value, at
        shift += 7


def _unpacked(data: bytes) -> Iterator[int]:
    at = 0
    while at < len(data):
        value, at = _varint(data, at)
        yield value


def _as_bytes(value: Raw) -> bytes:
    if isinstance(value, bytes):
        return value
    raise BugError("a message of the CEL library could not be read")


def varint(value: int) -> bytes:
    """Write an integer; a negative one as 64-bit two's complement."""
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 0x7F:  # noqa: PLR2004
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def integer(number: int, value: int) -> bytes:
    """Write an integer, boolean or enum field."""
    return varint(number << 3 | _VARINT) + varint(value)


def double(number: int, value: float) -> bytes:
    """Write a double field."""
    return varint(number << 3 | _FIXED64) + struct.pack("<d", value)


def block(number: int, data: bytes) -> bytes:
    """Write a bytes field or a nested message."""
    return varint(number << 3 | _BYTES) + varint(len(data)) + data


def text(number: int, value: str) -> bytes:
    """Write a string field."""
    return block(number, value.encode())


def blocks(number: int, items: Iterable[bytes]) -> bytes:
    """Write a repeated nested message."""
    return b"".join(block(number, item) for item in items)


def as_double(data: bytes) -> float:
    """Read the eight bytes of a double."""
    return float(struct.unpack("<d", data)[0]) if data else 0.0


def parsed(expression: bytes) -> bytes:
    """Wrap an encoded Expr as the library's serialised parsed expression."""
    return text(1, TYPE_URL) + block(2, block(2, expression))


def unwrap(serialised: bytes) -> tuple[Wire, dict[int, int]]:
    """Return the Expr of a serialised parsed expression, and the place of each node by its id."""
    outer = decode(serialised)
    if outer.text(1) != TYPE_URL:
        raise BugError(f"the CEL library gave a {outer.text(1)!r}")
    expression = decode(outer.data(2))
    info = expression.message(3) or Wire()
    places = dict(_place(_as_bytes(entry)) for entry in info.fields.get(4, ()))
    return expression.message(2) or Wire(), places


def _place(entry: bytes) -> tuple[int, int]:
    if len(entry) == 4 and max(entry) < 0x80:  # noqa: PLR2004  # the usual entry: 08 id 10 place
        return entry[1], entry[3]
    message = decode(entry)
    return message.number(1), message.number(2)
