"""Regular expressions of RE2 as languages of Z3, as far as they are plain.

Read are literals, classes, groups, alternatives and repetitions, and anchors at the very ends.
What else RE2 knows (flags, word boundaries, Unicode classes) is refused: the caller then knows
nothing of what the pattern matches.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from dagflow.compiler.proofs.solver.shapes import Logic, Term

LONGEST: Final = 200
"""Longer patterns are refused: their languages cost more than they tell."""

REPEATED: Final = 64
"""The most that a counted repetition may say."""

TOP: Final = 0x2FFFF
"""Z3's last character."""

_CLASSES: Final = {
    "d": ((48, 57),),
    "w": ((48, 57), (65, 90), (95, 95), (97, 122)),
    "s": ((9, 10), (12, 13), (32, 32)),
}
_ESCAPES: Final = {"n": 10, "t": 9, "r": 13, "f": 12, "v": 11, "a": 7}
_SPECIAL: Final = frozenset("\\.+*?()|[]{}^$")

Ranges = tuple[tuple[int, int], ...]


class _RefusedError(ValueError):
    """The pattern says something that is not read here."""


def to_z3(pattern: str, logic: Logic) -> Term | None:
    """Return the language of all texts in which the pattern is found, or None."""
    if len(pattern) > LONGEST or any(ord(char) > TOP for char in pattern):
        return None
    try:
        return _Reader(pattern, logic).whole()
    except (_RefusedError, RecursionError):
        return None


class _Reader:
    def __init__(self, pattern: str, logic: Logic) -> None:
        self._text = pattern
        self._at = 0
        self._logic = logic
        self._z3 = logic.z3

    def whole(self) -> Term:
        begins, ends = self._anchors()
        found = self._alternatives()
        if self._at < len(self._text):
            raise _RefusedError
        parts = [] if begins else [self._anything()]
        return self._concat([*parts, found, *([] if ends else [self._anything()])])

    def _anchors(self) -> tuple[bool, bool]:
        text = self._text
        begins = text.startswith("^")
        tail = text.removesuffix("$")
        ends = text.endswith("$") and (len(tail) - len(tail.rstrip("\\"))) % 2 == 0
        self._text = (tail if ends else text)[int(begins) :]
        if (begins or ends) and _has_bare_alternative(self._text):
            raise _RefusedError  # the anchor belongs to one of the alternatives alone
        return begins, ends

    def _anything(self) -> Term:
        return self._z3.Star(self._ranges(((0, TOP),)))

    def _alternatives(self) -> Term:
        found = [self._sequence()]
        while self._taken("|"):
            found.append(self._sequence())
        return found[0] if len(found) == 1 else self._z3.Union(*found)

    def _sequence(self) -> Term:
        parts = []
        while self._at < len(self._text) and self._text[self._at] not in "|)":
            parts.append(self._repeated(self._atom()))
        return self._concat(parts)

    def _concat(self, parts: list[Term]) -> Term:
        if not parts:
            return self._z3.Re(self._logic.text(""))
        return parts[0] if len(parts) == 1 else self._z3.Concat(*parts)

    def _repeated(self, atom: Term) -> Term:
        for mark, make in (("*", self._z3.Star), ("+", self._z3.Plus), ("?", self._z3.Option)):
            if self._taken(mark):
                return self._once(make(atom))
        if self._taken("{"):
            least, most = self._counts()
            counted = self._z3.Loop(atom, least, most) if most else self._at_least(atom, least)
            return self._once(counted)
        return atom

    def _at_least(self, atom: Term, least: int) -> Term:
        return self._concat([self._z3.Loop(atom, least, least), self._z3.Star(atom)])

    def _once(self, found: Term) -> Term:
        self._taken("?")  # lazy or not, the same texts match
        if self._at < len(self._text) and self._text[self._at] in "*+?{":
            raise _RefusedError
        return found

    def _counts(self) -> tuple[int, int]:
        inside, closed, _ = self._text[self._at :].partition("}")
        first, comma, last = inside.partition(",")
        if not closed or not first.isdecimal() or (last and not last.isdecimal()):
            raise _RefusedError
        least, most = int(first), int(last) if last else (0 if comma else int(first))
        if max(least, most) > REPEATED or (most == 0 and not comma) or (last and most < least):
            raise _RefusedError
        self._at += len(inside) + 1
        return least, most

    def _atom(self) -> Term:
        char = self._next()
        if char == "(":
            return self._group()
        if char == "[":
            return self._ranges(self._class())
        if char == ".":
            return self._ranges(((0, 9), (11, TOP)))
        if char == "\\":
            return self._ranges(self._escape())
        if char in _SPECIAL:
            raise _RefusedError
        return self._z3.Re(self._logic.text(char))

    def _group(self) -> Term:
        if self._taken("?:"):
            pass
        elif self._taken("?P<") or self._taken("?<"):
            while self._next() != ">":
                pass
        elif self._taken("?"):
            raise _RefusedError  # flags
        found = self._alternatives()
        if not self._taken(")"):
            raise _RefusedError
        return found

    def _escape(self) -> Ranges:
        char = self._next()
        if char in _CLASSES:
            return _CLASSES[char]
        if char.lower() in _CLASSES:
            return _others(_CLASSES[char.lower()])
        if char in _ESCAPES:
            return ((_ESCAPES[char],) * 2,)
        if char.isalnum() or ord(char) > 0x7F:  # noqa: PLR2004
            raise _RefusedError
        return ((ord(char),) * 2,)

    def _class(self) -> Ranges:
        is_negated = self._taken("^")
        found: list[tuple[int, int]] = []
        while not self._taken("]") or not found:
            if self._text[self._at - 1] == "]" and not found:
                raise _RefusedError
            found += self._member()
        return _others(found) if is_negated else tuple(found)

    def _member(self) -> Ranges:
        low = self._single()
        is_range = self._text[self._at : self._at + 1] == "-"
        if len(low) != 1 or low[0][0] != low[0][1] or not is_range:
            return low
        if self._text[self._at + 1 : self._at + 2] in {"]", ""}:
            return low
        self._at += 1
        high = self._single()
        if len(high) != 1 or high[0][0] != high[0][1] or high[0][0] < low[0][0]:
            raise _RefusedError
        return ((low[0][0], high[0][0]),)

    def _single(self) -> Ranges:
        char = self._next()
        if char == "\\":
            return self._escape()
        if char == "[":
            raise _RefusedError  # [[:alpha:]]
        return ((ord(char),) * 2,)

    def _ranges(self, ranges: Iterable[tuple[int, int]]) -> Term:
        text = self._logic.text
        parts = [self._z3.Range(text(chr(low)), text(chr(high))) for low, high in ranges]
        return parts[0] if len(parts) == 1 else self._z3.Union(*parts)

    def _next(self) -> str:
        if self._at >= len(self._text):
            raise _RefusedError
        self._at += 1
        return self._text[self._at - 1]

    def _taken(self, text: str) -> bool:
        if self._text.startswith(text, self._at):
            self._at += len(text)
            return True
        return False


def _has_bare_alternative(text: str) -> bool:
    depth, at = 0, 0
    while at < len(text):
        char = text[at]
        at += 2 if char == "\\" else 1
        depth += (char == "(") - (char == ")")
        if char == "|" and depth == 0:
            return True
    return False


def _others(ranges: Iterable[tuple[int, int]]) -> Ranges:
    """Return the characters in none of the ranges."""
    found, begin = [], 0
    for low, high in sorted(ranges):
        if low > begin:
            found.append((begin, low - 1))
        begin = max(begin, high + 1)
    if begin <= TOP:
        found.append((begin, TOP))
    return tuple(found)
