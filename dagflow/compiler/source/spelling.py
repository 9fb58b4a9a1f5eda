"""How the text of a scalar is written in the file: which piece of it stands where.

`spell` reads the raw text of a scalar by the rules of YAML 1.2 and returns its value in pieces,
each with the offset in the raw text at which it begins. A piece of several characters is written
in the file just as it is; anything that is written otherwise (an escape, a folded line break) is a
piece of one character. The same pieces serve two ends: places inside a value, and a second
opinion on what libyaml made of the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_BREAKS = r"[ \t]*(?:\r?\n[ \t]*)+"
QUOTED_SPECIAL = re.compile(
    r"\\(?:\r?\n[ \t]*(?:\r?\n[ \t]*)*|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|.)|"
    + _BREAKS,
    re.DOTALL,
)
SINGLE_SPECIAL = re.compile("''|" + _BREAKS)
PLAIN_SPECIAL = re.compile(_BREAKS)
HEADER = re.compile(
    r"[|>](?:(?P<indent>[1-9])(?P<chomp>[-+]?)|(?P<chomp2>[-+]?)(?P<indent2>[1-9]?))"
    r"(?:[ \t]+(?:#[^\r\n]*)?)?(?P<break>\r?\n|\Z)"
)
FIRST_LINE = re.compile(r"(?P<indent> *)[^ \n]")
ESCAPES = {
    "0": "\0", "a": "\a", "b": "\b", "t": "\t", "\t": "\t", "n": "\n", "v": "\v", "f": "\f",
    "r": "\r", "e": "\x1b", " ": " ", '"': '"', "/": "/", "\\": "\\",
    "N": "\x85", "_": "\xa0", "L": "\u2028", "P": "\u2029",
}  # fmt: skip


class Piece(NamedTuple):
    """`text` of a value, which begins at offset `start` of the raw text."""

    text: str
    start: int


class MisspeltError(ValueError):
    """The raw text is not what YAML 1.2 allows there; the message says why."""


def spell(raw: str, value: str) -> tuple[Piece, ...] | None:
    """Return the pieces that make `value`, or None if YAML 1.2 reads `raw` otherwise.

    Raises `MisspeltError` when YAML 1.2 does not read it at all.
    """
    mark = raw[:1]
    if mark in {"|", ">"}:
        return _block(raw, value)
    if mark in SPECIALS:
        return _same(tuple(_flow(raw, SPECIALS[mark], 1, len(raw) - 1)), value)
    return _same(tuple(_flow(raw, PLAIN_SPECIAL, 0, len(raw))), value)


SPECIALS = {"'": SINGLE_SPECIAL, '"': QUOTED_SPECIAL}


def _same(pieces: tuple[Piece, ...], value: str) -> tuple[Piece, ...] | None:
    return pieces if "".join(piece.text for piece in pieces) == value else None


def _flow(raw: str, special: re.Pattern[str], at: int, end: int) -> Iterator[Piece]:
    for match in special.finditer(raw, at, end):
        if match.start() > at:
            yield Piece(raw[at : match.start()], at)
        at = match.end()
        written = match[0]
        if "\n" in written:
            yield from _folds(written, match.start())
        else:
            yield Piece(_unescaped(written), match.start())
    if at < end:
        yield Piece(raw[at:end], at)


def _folds(written: str, start: int) -> Iterator[Piece]:
    """Yield what line breaks with the blanks around them mean: a space, or the empty lines.

    Behind a backslash the first one means nothing at all.
    """
    first = written.index("\n")
    if written.count("\n") > 1:
        yield from (
            Piece("\n", start + index)
            for index, char in enumerate(written)
            if char == "\n" and index > first
        )
    elif written[0] != "\\":
        yield Piece(" ", start + first)


def _unescaped(special_text: str) -> str:
    if special_text == "''":
        return "'"
    if special_text[1] in "xuU" and len(special_text) > 2:  # noqa: PLR2004
        return chr(int(special_text[2:], 16))  # noqa: FURB166  # `\x41` is no `0x41`
    if special_text[1] not in ESCAPES:
        raise MisspeltError(f"`{special_text}` is no escape")
    return ESCAPES[special_text[1]]


def is_plain_literal(raw: str, value: str) -> bool:
    """Tell quickly whether a literal block without an explicit indent spells `value`.

    False means "look closer"; a long text of many lines is not taken to pieces only to see it.
    """
    header = HEADER.match(raw)
    if header is None or raw[0] != "|" or header["indent"] or header["indent2"]:
        return False
    body = raw[header.end() :]
    first = FIRST_LINE.match(body)
    if first is None or "\r" in raw:
        return False
    indent = len(first["indent"])
    text = re.sub(rf"^ {{0,{indent}}}", "", body, flags=re.MULTILINE)
    chomp = header["chomp"] or header["chomp2"]
    ends = {"": "\n", "-": "", "+": text[len(text.rstrip("\n")) :]}
    return value == text.rstrip("\n") + ends[chomp]


def _block(raw: str, value: str) -> tuple[Piece, ...] | None:
    header = HEADER.match(raw)
    if header is None:
        raise MisspeltError("a block's header is `|` or `>`, an indent, `+` or `-`, and a comment")
    lines = _lines(raw, header.end())
    chomp = header["chomp"] or header["chomp2"] or ""
    for indent in _indents(lines, explicit=bool(header["indent"] or header["indent2"])):
        pieces = tuple(_block_pieces(raw, lines, indent, chomp))
        if "".join(piece.text for piece in pieces) == value:
            return pieces
    return None


class _Line(NamedTuple):
    start: int
    text: str
    ended: int  # offset of the line break, or of the end of the text
    lead: int  # spaces at the head
    is_blank: bool


def _line(start: int, text: str, ended: int) -> _Line:
    rest = text.lstrip(" ")
    return _Line(start, text, ended, len(text) - len(rest), not rest)


def _lines(raw: str, at: int) -> list[_Line]:
    found: list[_Line] = []
    for whole in raw[at:].splitlines(keepends=True):
        text = whole.rstrip("\r\n")
        found.append(_line(at, text, at + len(text)))
        at += len(whole)
    return found


def _indents(lines: list[_Line], *, explicit: bool) -> Iterator[int]:
    """Yield the indents that the block's text may have.

    An explicit one is relative to the parent's, which the raw text doesn't show: of those that
    are possible the value decides.
    """
    first = next((index for index, line in enumerate(lines) if not line.is_blank), None)
    if first is None:
        yield from range(max((line.lead for line in lines), default=0), -1, -1)
        return
    if not explicit:
        deeper = any(line.lead > lines[first].lead for line in lines[:first])
        if deeper:
            raise MisspeltError(
                "a blank line at the head of a block is indented more than its text"
            )
        yield lines[first].lead
        return
    yield from range(min(line.lead for line in lines if not line.is_blank), -1, -1)


def _block_pieces(raw: str, lines: list[_Line], indent: int, chomp: str) -> Iterator[Piece]:
    filled = [index for index, line in enumerate(lines) if line.text[indent:]]
    last = filled[-1] if filled else -1
    body, tail = lines[: last + 1], lines[last + 1 :]
    make = _literal if raw[0] == "|" else _folded
    yield from make(body, indent)
    if body and chomp != "-":
        yield Piece("\n", body[-1].ended)
    if chomp == "+":
        yield from (Piece("\n", line.ended) for line in tail)


def _literal(lines: list[_Line], indent: int) -> Iterator[Piece]:
    for number, line in enumerate(lines):
        if number:
            yield Piece("\n", lines[number - 1].ended)
        if line.text[indent:]:
            yield Piece(line.text[indent:], line.start + indent)


def _folded(lines: list[_Line], indent: int) -> Iterator[Piece]:
    before: _Line | None = None
    empty: list[_Line] = []
    for line in lines:
        text = line.text[indent:]
        if not text:
            empty.append(line)
            continue
        yield from _between(before, empty, text, indent)
        yield Piece(text, line.start + indent)
        before, empty = line, []


def _between(before: _Line | None, empty: list[_Line], text: str, indent: int) -> Iterator[Piece]:
    """Yield what stands between two filled lines of a folded block."""
    more = text[0] in " \t" or (before is not None and before.text[indent] in " \t")
    if before is not None and (more or not empty):
        yield Piece("\n" if more else " ", before.ended)
    yield from (Piece("\n", line.ended) for line in empty)
