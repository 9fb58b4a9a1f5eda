"""Where in the file a part of a value is written: the way back from an expression to its author."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator

from dagflow.compiler.source.spelling import MisspeltError, Piece, spell
from dagflow.core.node import Mapping, Node, Scalar, Sequence
from dagflow.core.pointers import under
from dagflow.core.source import At, Source, Span


def place_of(node: Scalar, offset: int, source: Source, *, length: int = 1) -> Span:
    """Return the place of `length` characters at code point `offset` of the scalar's value.

    Right for every style, over escapes, folded lines and indents. An offset at or past the end of
    the value is the place just behind its last character. Where the text of the value isn't in
    the file as such (a number, an unknown spelling) it is the place of the whole scalar.
    """
    raw = node.raw
    if node.style == "plain" and raw == node.value and "\n" not in raw:
        start = node.span.column + min(offset, len(raw))
        end = node.span.column + min(max(offset + length - 1, offset), len(raw))
        return Span(node.span.line, start, node.span.line, end + (length > 0), source.name)
    pieces = _pieces(node)
    if pieces is None:
        return node.span
    last = max(offset + length - 1, offset)
    line, column = _place(node, _raw_offset(pieces, offset))
    end_line, end_column = _place(node, _raw_offset(pieces, last))
    return Span(line, column, end_line, end_column + (length > 0), source.name)


def _pieces(node: Scalar) -> tuple[Piece, ...] | None:
    if not isinstance(node.value, str):
        return (Piece(node.raw, 0),) if node.raw else None
    if node.style == "plain" and node.raw == node.value:
        return (Piece(node.raw, 0),)
    try:
        return spell(node.raw, node.value)
    except MisspeltError:
        return None


def _raw_offset(pieces: tuple[Piece, ...], offset: int) -> int:
    if not pieces:
        return 0
    starts = []
    total = 0
    for piece in pieces:
        starts.append(total)
        total += len(piece.text)
    index = max(bisect_right(starts, offset) - 1, 0)
    piece = pieces[index]
    return piece.start + min(offset - starts[index], len(piece.text))


def _place(node: Scalar, raw_offset: int) -> tuple[int, int]:
    before = node.raw[:raw_offset]
    lines = before.count("\n")
    if not lines:
        return node.span.line, node.span.column + raw_offset
    return node.span.line + lines, raw_offset - before.rfind("\n")


def pointer_to(root: Node, span: Span) -> str:
    """Return the JSON Pointer of the innermost part that holds the beginning of the span.

    A key belongs to the part that it names. What stands between two parts is in the one around.
    """
    pointer, node = "", root
    while (found := _part_at(node, (span.line, span.column))) is not None:
        key, node = found
        pointer = under(pointer, key)
    return pointer


def _part_at(node: Node, at: tuple[int, int]) -> tuple[object, Node] | None:
    """Return the key and the value of the part of a collection that the place is in."""
    if isinstance(node, Mapping):  # keys stand in order
        index = bisect_right(node.entries, at, key=lambda entry: _begin(entry[0].span)) - 1
        if index >= 0:
            key, value = node.entries[index]
            # an alias stands for a value that ends before its key
            if at <= max(_end(key.span), _end(value.span)):
                return key.value, value
    if isinstance(node, Sequence):  # items may be aliases, and stand elsewhere
        near = bisect_right(node.items, at, key=lambda item: _begin(item.span)) - 1
        for index in (near, *range(len(node.items))):
            if index >= 0 and _begin(node.items[index].span) <= at <= _end(node.items[index].span):
                return index, node.items[index]
    return None


def _begin(span: Span) -> tuple[int, int]:
    return span.line, span.column


def _end(span: Span) -> tuple[int, int]:
    return span.end_line, span.end_column


class Places:
    """The scalars of one document by where they begin, for values that kept only their span."""

    def __init__(self, source: Source, root: Node) -> None:
        self._source = source
        self._scalars = {(it.span.line, it.span.column): it for it in scalars(root)}

    def of(self, written: At[str] | Scalar, offset: int, *, length: int = 1) -> Span:
        """Return the place of `length` characters at `offset` of a text that the file holds."""
        if isinstance(written, Scalar):
            return place_of(written, offset, self._source, length=length)
        node = self._scalars.get((written.span.line, written.span.column))
        if node is None:
            return written.span
        return place_of(node, offset, self._source, length=length)


def scalars(root: Node) -> Iterator[Scalar]:
    """Yield every scalar that is a value, once, however many aliases name it."""
    stack: list[Node] = [root]
    seen: set[int] = set()
    while stack:
        node = stack.pop()
        if isinstance(node, Scalar):
            yield node
        elif id(node) not in seen:
            seen.add(id(node))
            parts = node.items if isinstance(node, Sequence) else (v for _, v in node.entries)
            stack.extend(parts)
