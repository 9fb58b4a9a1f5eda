"""What a plain scalar means: the core schema of YAML 1.2, and nothing of YAML 1.1."""

from __future__ import annotations

import math
import re

from dagflow.core.values import INT64_MAX, INT64_MIN

Resolved = str | int | float | bool | None

CORE = "tag:yaml.org,2002:"
WORDS: dict[str, bool | None] = {
    "": None, "~": None, "null": None, "Null": None, "NULL": None,
    "true": True, "True": True, "TRUE": True,
    "false": False, "False": False, "FALSE": False,
}  # fmt: skip
NUMBER = re.compile(
    r"(?P<int>[-+]?[0-9]+)|0o(?P<oct>[0-7]+)|0x(?P<hex>[0-9a-fA-F]+)"
    r"|(?P<float>[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?)"
    r"|(?P<odd>[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))"
)
BASES = {"int": 10, "oct": 8, "hex": 16}
LONGEST_INT = 400
"""Digits that are worth reading: more can't fit 64 bits unless they are zeros nobody writes."""
STARTS = frozenset("0123456789+-.")


class RefusedScalarError(ValueError):
    """A scalar that YAML can say and dagflow can't carry; the message tells why."""


def resolve(text: str) -> Resolved:
    """Return the value of a plain scalar.

    Raises `RefusedScalarError` for integers outside 64 bits, infinities and NaN.
    """
    if text in WORDS:
        return WORDS[text]
    if text[0] not in STARTS:
        return text
    match = NUMBER.fullmatch(text)
    if match is None:
        return text
    return _number(str(match.lastgroup), str(match[str(match.lastgroup)]), text)


def _number(form: str, digits: str, text: str) -> int | float:
    if form == "odd":
        raise RefusedScalarError(f"{text} is not a JSON number")
    if form == "float":
        return _float(text)
    whole = int(digits, BASES[form]) if len(digits) <= LONGEST_INT else INT64_MAX + 1
    if not INT64_MIN <= whole <= INT64_MAX:
        raise RefusedScalarError(f"{_short(text)} is outside the 64-bit integers")
    return whole


def _float(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise RefusedScalarError(f"{_short(text)} is too large for a number")
    return value


def _short(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:30]}…"  # noqa: PLR2004


def tagged(text: str, tag: str) -> Resolved:
    """Return the value of a scalar that carries a core tag, as `!!int 3`.

    Raises `RefusedScalarError` when the tag is not a core scalar tag or the text is none of its.
    """
    kind = tag.removeprefix(CORE)
    if tag == "!" or kind == "str":
        return text
    if kind not in KINDS or kind == tag:
        raise RefusedScalarError(f"the tag {shown(tag)} is not one of YAML's core schema")
    value = resolve(text)
    if kind == "float" and type(value) is int:
        return float(value)
    if not isinstance(value, KINDS[kind]) or (kind == "int" and isinstance(value, bool)):
        raise RefusedScalarError(f"{_short(text)!r} is not of the type {shown(tag)}")
    return value


KINDS: dict[str, type] = {"int": int, "float": float, "bool": bool, "null": type(None)}


def shown(tag: str) -> str:
    """Return a tag as its author would write it."""
    return tag.replace(CORE, "!!", 1) if tag.startswith(CORE) else tag
