"""The wire format of `cel.expr.Expr`: what the CEL library's parser gives and its planner takes.

Read and written by hand: the messages are seven small ones, and building protobuf classes for
them would cost 50 ms at start-up. Field numbers are those of cel-spec's `syntax.proto`.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import TypeAlias

from dagflow.core.errors import BugError

TYPE_URL = "type.googleapis.com/cel.expr.ParsedExpr"
_VARINT, _FIXED64, _BYTES = 0, 1, 2

Field: TypeAlias = "tuple[int, int | bytes]"


def fields(data: bytes) -> list[Field]:
    """Split one message into its fields, in their order."""
    found: list[Field] = []
    at, end = 0, len(data)
    while at < end:
        tag = data[at]  # every field number here is below 16, so a tag is one byte
        number, kind = tag >> 3, tag & 7
        if kind == _FIXED64:
            found.append((number, data[at + 1 : at + 9]))
            at += 9
            continue
        if kind not in {_VARINT, _BYTES}:
            raise BugError(f"a message of the CEL library has the unknown tag {tag}")
        value, at = data[at + 1], at + 2
        if value >= 0x80:  # noqa: PLR2004  # most numbers are one byte, and cost no call
            value, at = read_varint(data, at - 1)
        if kind == _BYTES:
            found.append((number, data[at : at + value]))
            at += value
        else:
            found.append((number, value))
    return found


def read_varint(data: bytes, at: int) -> tuple[int, int]:
    """Read an unsigned integer; return it and the offset after it."""
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


def signed(value: int) -> int:
    """Return a 64-bit integer with its sign."""
    return value - (1 << 64) if value >= 1 << 63 else value


def as_bytes(value: int | bytes) -> bytes:
    """Return a field that must be bytes, a string or a message."""
    if isinstance(value, bytes):
        return value
    raise BugError("a message of the CEL library could not be read")


def as_int(value: int | bytes) -> int:
    """Return a field that must be a number."""
    if isinstance(value, int):
        return value
    raise BugError("a message of the CEL library could not be read")


def message(found: list[Field], number: int) -> bytes:
    """Return the last field of a number, empty where it is absent."""
    return next((as_bytes(value) for n, value in reversed(found) if n == number), b"")


def messages(found: list[Field], number: int) -> list[bytes]:
    """Return every field of a number."""
    return [as_bytes(value) for n, value in found if n == number]


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


def unwrap(serialised: bytes) -> tuple[bytes, dict[int, int]]:
    """Return the Expr of a serialised parsed expression, and the place of each node by its id."""
    outer = fields(serialised)
    if message(outer, 1) != TYPE_URL.encode():
        raise BugError(f"the CEL library gave a {message(outer, 1)!r}")
    expression = fields(message(outer, 2))
    info = fields(message(expression, 3))
    places = dict(_place(entry) for entry in messages(info, 4))
    return message(expression, 2), places


def _place(entry: bytes) -> tuple[int, int]:
    if len(entry) == 4 and entry[1] < 0x80 and entry[3] < 0x80:  # noqa: PLR2004  # 08 id 10 place
        return entry[1], entry[3]
    found = dict(fields(entry))
    return as_int(found.get(1, 0)), as_int(found.get(2, 0))
