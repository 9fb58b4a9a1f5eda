"""Durations, sizes and rates as authors write them."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Final

from dagflow.core.values import INT64_MAX

DURATION_PATTERN: Final = (
    r"(?=[0-9])(?:[0-9]{1,9}(?:\.[0-9]{1,6})?d)?(?:[0-9]{1,9}(?:\.[0-9]{1,6})?h)?"
    r"(?:[0-9]{1,9}(?:\.[0-9]{1,6})?m)?(?:[0-9]{1,9}(?:\.[0-9]{1,6})?s)?"
    r"(?:[0-9]{1,9}(?:\.[0-9]{1,6})?ms)?"
)
SIZE_PATTERN: Final = r"[0-9]{1,18}(?:\.[0-9]{1,6})?(?:B|[kKMGT]B|[KMGT]iB)"
RATE_PATTERN: Final = SIZE_PATTERN + "/s"

MILLISECONDS: Final = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
BYTES: Final = {
    "B": 1, "kB": 10**3, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12,
    "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40,
}  # fmt: skip
LONGEST: Final = timedelta(days=3650)

_DURATION = re.compile(DURATION_PATTERN)
_PART = re.compile(r"([0-9.]+)(ms|s|m|h|d)")
_SIZE = re.compile(SIZE_PATTERN)
_SPLIT = re.compile(r"([0-9.]+)([A-Za-z]+)")


class UnitError(ValueError):
    """A text that is no duration, size or rate; the message says why, `hint` what may be meant."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


def duration(text: str) -> timedelta:
    """Read `1h30m`; raises `UnitError`."""
    if text == "" or not _DURATION.fullmatch(text):
        raise UnitError(_duration_trouble(text), _duration_hint(text))
    parts = _PART.findall(text)
    microseconds = sum(_millionths(number) * MILLISECONDS[unit] for number, unit in parts) // 1000
    if microseconds > LONGEST // timedelta(microseconds=1):
        raise UnitError(f"{text!r} is longer than ten years")
    return timedelta(microseconds=microseconds)


def _millionths(number: str) -> int:
    """Return a decimal of at most six places exactly, which a double can't hold."""
    whole, _, places = number.partition(".")
    return int(whole + places.ljust(6, "0"))


def _duration_trouble(text: str) -> str:
    if re.fullmatch(r"[0-9.]+", text):
        return f"{text!r} is a duration without a unit"
    return f"{text!r} is no duration"


def _duration_hint(text: str) -> str:
    compact = re.sub(r"[\s_,]+", "", text.lower())
    for word, unit in LONG_WORDS.items():
        compact = re.sub(rf"(?<=[0-9]){word}(?![a-z])", unit, compact)
    if re.fullmatch(r"[0-9.]+", compact):
        compact += "s"
    return _if_read(duration, compact) if compact != text and _DURATION.fullmatch(compact) else ""


def _if_read(read: Callable[[str], object], hint: str) -> str:
    """Return the hint if it can be read itself, else ""."""
    try:
        read(hint)
    except UnitError:
        return ""
    return hint


LONG_WORDS: Final = {
    "milliseconds?|msecs?|millis": "ms", "seconds?|secs?": "s", "minutes?|mins?": "m",
    "hours?|hrs?": "h", "days?": "d",
}  # fmt: skip


def size(text: str) -> int:
    """Read `128MiB` as bytes; raises `UnitError`."""
    if not _SIZE.fullmatch(text):
        raise UnitError(f"{text!r} is no size in bytes", _size_hint(text))
    number, unit = _SPLIT.findall(text)[0]
    count, rest = divmod(_millionths(number) * BYTES[unit], 10**6)
    if rest:
        raise UnitError(f"{text!r} is no whole number of bytes")
    if count > INT64_MAX:
        raise UnitError(f"{text!r} is more than 8 EiB")
    return count


def rate(text: str) -> int:
    """Read `10MB/s` as bytes a second; raises `UnitError`."""
    head, slash, tail = text.partition("/")
    if slash and tail == "s":
        try:
            return size(head)
        except UnitError as error:
            hint = f"{error.hint}/s" if error.hint else ""
            raise UnitError(f"{text!r} is no rate in bytes a second", hint) from None
    hint = _if_read(size, head) or _size_hint(head)
    raise UnitError(f"{text!r} is no rate in bytes a second", f"{hint}/s" if hint else "")


def _size_hint(text: str) -> str:
    match = re.fullmatch(r"([0-9.]+)\s*([A-Za-z]*)", text.strip())
    if match is None:
        return ""
    number, unit = match.groups()
    short = {known.lower().removesuffix("b"): known for known in BYTES} | {
        known.lower(): known for known in BYTES
    }
    found = short.get(unit.lower(), "")
    hint = f"{number}{found}"
    return _if_read(size, hint) if found and hint != text and _SIZE.fullmatch(hint) else ""
