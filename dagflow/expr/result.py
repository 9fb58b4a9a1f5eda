"""What the CEL library gives back, as plain JSON values."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta

from dagflow.core.errors import ValueRefusedError
from dagflow.core.values import INT64_MAX, INT64_MIN, JsonValue


def to_json(value: object, at: str = "") -> JsonValue:
    """Return the JSON value, keys sorted; instants as RFC 3339, durations as seconds ("1.5s").

    Raises `ValueRefusedError` for what JSON can't say: bytes, types, infinities, keys that
    aren't strings.
    """
    kind = type(value)
    if value is None or kind in {bool, str}:
        return value  # type: ignore[return-value]  # one of the three
    if isinstance(value, int):
        return _integer(value, at)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueRefusedError(at or "/", f"{value} is not a finite number")
        return value
    if isinstance(value, list):
        return [to_json(item, f"{at}/{index}") for index, item in enumerate(value)]
    if isinstance(value, dict):
        # the library's maps have another order in each process
        names = sorted(_key(key, at) for key in value)
        return {name: to_json(value[name], f"{at}/{name}") for name in names}
    if isinstance(value, datetime):
        return instant(value)
    if isinstance(value, timedelta):
        return seconds(value)
    shown = "bytes" if isinstance(value, bytes | bytearray) else f"a {kind.__name__.lower()}"
    help_ = "; use base64.encode" if shown == "bytes" else ""
    raise ValueRefusedError(at or "/", f"{shown} can't be written as JSON{help_}")


def _integer(value: int, at: str) -> int:
    if INT64_MIN <= value <= INT64_MAX:
        return value
    raise ValueRefusedError(at or "/", f"{value} is an integer outside the 64-bit range")


def _key(key: object, at: str) -> str:
    if isinstance(key, str):
        return key
    raise ValueRefusedError(at or "/", f"the key {key!r} is not a string")


def instant(value: datetime) -> str:
    """Write an instant as RFC 3339 in UTC, with as many decimals as it needs."""
    text = value.astimezone(UTC).replace(tzinfo=None).isoformat()
    return f"{text.rstrip('0').rstrip('.') if '.' in text else text}Z"


def seconds(value: timedelta) -> str:
    """Write a duration in seconds: "90s", "1.5s", "-0.25s"."""
    micros = value // timedelta(microseconds=1)
    whole, rest = divmod(abs(micros), 1_000_000)
    decimals = f".{rest:06d}".rstrip("0") if rest else ""
    return f"{'-' if micros < 0 else ''}{whole}{decimals}s"
