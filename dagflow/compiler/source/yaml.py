"""YAML text to a tree of nodes with places: the strict subset of YAML 1.2 that docs/yaml.md tells.

The only home of PyYAML. libyaml makes the events; what they mean, and what of it is let in, is
decided here: its YAML 1.1 readings, its bugs and its generosity do not reach a workflow.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator
from typing import Any, NoReturn, TypeAlias

import yaml
from yaml.events import (
    AliasEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
)

from dagflow.compiler.source.aliases import Anchors
from dagflow.compiler.source.gaps import (
    COMMON,
    TAIL,
    behind,
    block_span,
    line_and_column,
    stranger,
)
from dagflow.compiler.source.keys import is_merge, key_trouble
from dagflow.compiler.source.problems import STRICT, Problems
from dagflow.compiler.source.resolver import CORE, RefusedScalarError, resolve, shown, tagged
from dagflow.compiler.source.spelling import MisspeltError, is_plain_literal, spell
from dagflow.compiler.source.syntax import complaint, single
from dagflow.compiler.source.text import prepare
from dagflow.core.findings import Finding, Related
from dagflow.core.node import Mapping, Node, Scalar, Sequence, Style
from dagflow.core.pointers import under
from dagflow.core.records import dataclass
from dagflow.core.source import Source, Span
from dagflow.core.values import MAX_DEPTH

MAX_EXPANSION = 10
Token: TypeAlias = Any
"""An event of libyaml. The published types have every mark optional; from text none is."""
STYLES: dict[str | None, Style] = {"'": "quoted", '"': "quoted", "|": "block", ">": "block"}
COLLECTIONS = {SequenceStartEvent: f"{CORE}seq", MappingStartEvent: f"{CORE}map"}


@dataclass(frozen=True, slots=True)
class Composed:
    """The tree, or None where the text can't be read as YAML (or is empty), and the findings."""

    root: Node | None
    findings: tuple[Finding, ...]


def compose(source: Source) -> Composed:
    """Read one YAML document. Never raises: what is wrong with the text is a finding."""
    problems = Problems()
    text = prepare(source, problems)
    if text is None or TAIL.fullmatch(text):
        return Composed(None, problems.findings())
    root = _Composer(source, text, problems).root()
    return Composed(root, problems.findings())


class _StopError(Exception):
    """Nothing more can be read; the finding has been added."""


class _Composer:
    """One pass over the events of one text."""

    def __init__(self, source: Source, text: str, problems: Problems) -> None:
        self._file, self._text, self._problems = source.name, text, problems
        self._most = source.limits.values
        self._next: Callable[[], Token] = yaml.CLoader(text).get_event
        self._anchors = Anchors()
        self._path: list[str] = []
        self._written = 0  # nodes in the file
        self._meant = 0  # nodes once the aliases are followed
        self._end = 0  # offset just after the last token that was read

    def root(self) -> Node | None:
        """Return the document's node, or None."""
        try:
            return self._document()
        except _StopError:
            return None
        except yaml.MarkedYAMLError as error:
            self._syntax(error)
        except (yaml.YAMLError, ValueError) as error:
            self._add(f"the file can't be read as YAML: {error}", self._at(self._end), "")
        return None

    def _document(self) -> Node | None:
        self._next()
        if type(self._next()) is StreamEndEvent:
            return None
        node = self._node(self._next(), 1)
        end = self._next().start_mark.index
        self._gap(end)
        self._check_tail(end)
        self._check_expansion()
        return node

    # nodes

    def _node(self, event: Token, depth: int) -> Node:
        self._written += 1
        self._meant += 1
        if depth > MAX_DEPTH or self._written > self._most:
            self._too_much(event, depth)
        if type(event) is AliasEvent:
            return self._alias(event, depth)
        mark = event.start_mark
        start, line, column = mark.index, mark.line + 1, mark.column + 1
        if self._text[self._end : start] not in COMMON:
            self._gap(start)
        if event.anchor is not None or event.tag is not None:
            start, line, column = self._behind(event)
        if event.anchor is None:
            return self._made(event, start, line, column, depth)
        self._anchors.known[event.anchor] = None
        node = self._made(event, start, line, column, depth)
        self._anchors.known[event.anchor] = node
        return node

    def _made(self, event: Token, start: int, line: int, column: int, depth: int) -> Node:
        if type(event) is ScalarEvent:
            return self._scalar(event, start, line, column)
        # a `- ` or `? ` that opens a collection is left to the next gap
        flow = self._text[start : start + 1] in {"[", "{"}
        self._end = start + flow
        self._check_tag(event, line, column)
        node: Node
        if type(event) is SequenceStartEvent:
            items = tuple(self._items(depth + 1))
            node = Sequence(items, self._stretch(line, column, items, flow=flow))
        else:
            entries = tuple(self._entries(depth + 1))
            last = entries[-1] if entries else ()
            node = Mapping(entries, self._stretch(line, column, last, flow=flow))
        return node

    def _items(self, depth: int) -> Iterator[Node]:
        index = 0
        while type(event := self._next()) is not SequenceEndEvent:
            self._path.append(str(index))
            yield self._node(event, depth)
            self._path.pop()
            index += 1
        self._close(event)

    def _entries(self, depth: int) -> Iterator[tuple[Scalar, Node]]:
        seen: dict[str, Scalar] = {}
        while type(event := self._next()) is not MappingEndEvent:
            key = self._key(self._node(event, depth))
            self._path.append("" if key is None else str(key.value))
            value = self._node(self._next(), depth)
            self._path.pop()
            if key is not None and self._is_new(key, seen):
                yield key, value
        self._close(event)

    def _close(self, event: Token) -> None:
        last = event.end_mark
        self._close_at = (last.line + 1, last.column + 1)
        if last.index > event.start_mark.index:  # a bracket, not a smaller indent
            self._gap(event.start_mark.index)
            self._end = last.index

    # keys

    def _key(self, node: Node) -> Scalar | None:
        trouble = key_trouble(node)
        if trouble is not None:
            self._error(trouble[0], node.span, trouble[1])
        if not isinstance(node, Scalar) or is_merge(node):
            return None
        if isinstance(node.value, str):
            return node
        return Scalar(node.raw, node.span, node.style, node.raw) if node.raw else None

    def _is_new(self, key: Scalar, seen: dict[str, Scalar]) -> bool:
        text = str(key.value)
        form = text if text.isascii() else unicodedata.normalize("NFC", text)
        first = seen.setdefault(form, key)
        if first is key:
            return True
        said = f"the key `{text}` appears twice"
        if first.value != text:
            said = f"the key `{text}` is `{first.value}` in another Unicode form"
        before = Related(f"`{first.value}` is first written here", first.span)
        pointer = under(self._pointer(), text)
        self._add(said, key.span, "keep one of them", before, pointer=pointer)
        return False

    # scalars

    def _scalar(self, event: Token, start: int, line: int, column: int) -> Scalar:
        last = event.end_mark
        self._end = max(last.index, start)
        raw = self._text[start : self._end]
        style = STYLES.get(event.style, "plain")
        if style == "block":
            span = block_span(raw, line, column, self._file)
        elif start > last.index:  # nothing stands behind an anchor or tag
            span = Span(line, column, line, column, self._file)
        else:
            span = Span(line, column, last.line + 1, last.column + 1, self._file)
        if event.value != raw or raw in {"-", "?"}:
            self._check_spelling(event.value, raw, style, span)
        return Scalar(self._value(event, style, span), span, style, raw)

    def _value(self, event: Token, style: Style, span: Span) -> str | int | float | bool | None:
        text: str = event.value
        try:
            if event.tag is not None:
                value = tagged(text, event.tag)
            else:
                value = resolve(text) if style == "plain" else text
        except RefusedScalarError as error:
            remedy = "remove the tag" if event.tag else "write it in quotes to keep it as text"
            self._error(str(error), span, remedy)
            return text
        if style == "quoted" and "\0" in text:
            self._error("a text may not hold the character U+0000", span, "remove it")
        return value

    def _check_spelling(self, value: str, raw: str, style: Style, span: Span) -> None:
        if style == "quoted" and value == raw[1:-1] and "\n" not in raw and "\\" not in raw:
            return
        if style == "block" and is_plain_literal(raw, value):
            return
        reason = "YAML 1.2 reads this text otherwise than the parser does"
        try:
            if raw not in {"-", "?"} and spell(raw, value) is not None:
                return
        except MisspeltError as error:
            reason = str(error)
        self._error(reason, span, "write the text in double quotes")

    # anchors, aliases, tags

    def _behind(self, event: Token) -> tuple[int, int, int]:
        mark = event.start_mark
        begin = mark.index
        start, anchor = behind(self._text, begin, event.anchor, event.tag)
        if event.anchor is not None and anchor != event.anchor:
            said = f"the anchor `&{anchor}` has other characters than letters, digits, `-` and `_`"
            self._stop(said, self._at(begin), "rename it")
        between = self._text[begin:start]
        lines = between.count("\n")
        column = len(between) - between.rfind("\n") if lines else mark.column + 1 + len(between)
        return start, mark.line + 1 + lines, column

    def _check_tag(self, event: Token, line: int, column: int) -> None:
        tag = event.tag
        if tag in {None, "!", COLLECTIONS[type(event)]}:
            return
        mark = event.start_mark
        begin = (mark.line + 1, mark.column + 1)
        end = (line, column) if begin[0] == line else (begin[0], begin[1] + len(shown(tag)))
        said = f"the tag {shown(tag)} is not one of YAML's core schema"
        self._error(said, Span(begin[0], begin[1], end[0], end[1], self._file), "remove the tag")

    def _alias(self, event: Token, depth: int) -> Node:
        mark, name = event.start_mark, event.anchor
        self._gap(mark.index)
        self._end = event.end_mark.index
        span = single(mark.line, mark.column, self._file, self._end - mark.index)
        if name not in self._anchors.known:
            others = ", ".join(f"`&{other}`" for other in self._anchors.known) or "none"
            said = f"no anchor `&{name}` stands before the alias `*{name}`"
            self._stop(said, span, f"anchors before it: {others}")
        node = self._anchors.known[name]
        if node is None:
            said = f"the alias `*{name}` stands inside the value that it names"
            self._stop(said, span, "a workflow is a tree: write the value out")
        extent = self._anchors.extent(node)
        if depth + extent.levels - 1 > MAX_DEPTH:
            self._too_much(event, depth + extent.levels - 1)
        self._meant += extent.nodes - 1
        self._anchors.used.append((extent.nodes, span))
        return node

    # limits

    def _too_much(self, event: Token, depth: int) -> NoReturn:
        place = single(event.start_mark.line, event.start_mark.column, self._file)
        if depth > MAX_DEPTH:
            self._stop(f"it is nested deeper than {MAX_DEPTH} levels", place, "keep it flatter")
        remedy = "split the workflow, or pass the data as inputs"
        self._stop(f"the file has more than {self._most:,} values", place, remedy)

    def _check_expansion(self) -> None:
        """Refuse a text that means more than ten times what is written."""
        if self._meant <= MAX_EXPANSION * self._written:
            return
        size, span = self._anchors.largest()
        said = f"the aliases stand for {self._meant:,} values where {self._written:,} are written"
        remedy = f"at most {MAX_EXPANSION} times as many may be; this alias stands for {size:,}"
        self._stop(said, span, remedy, pointer="")

    def _check_tail(self, begin: int) -> None:
        match = TAIL.match(self._text, begin)
        if match is not None and match.end() < len(self._text):
            said = "a second document begins here, and a file holds one"
            place = self._at(match.end())
            self._stop(said, place, "put the other workflow in a file of its own", pointer="")

    def _gap(self, until: int) -> None:
        at = stranger(self._text, self._end, until)
        if at is not None:
            char = self._text[at]
            remedy = "put a space before the `#`" if char == "#" else "write the text in quotes"
            self._stop(f"`{char}` can't stand here", self._at(at), remedy)

    # places

    def _at(self, offset: int) -> Span:
        line, column = line_and_column(self._text, offset)
        return Span(line, column, line, column + 1, self._file)

    def _stretch(self, line: int, column: int, parts: tuple[Node, ...], *, flow: bool) -> Span:
        """Return the span of a collection: to its bracket, or to the end of its last part."""
        end = (line, column)
        if flow:
            end = self._close_at
        else:  # an alias ends where its anchor does, before the collection may begin
            end = max([end, *((part.span.end_line, part.span.end_column) for part in parts)])
        return Span(line, column, end[0], end[1], self._file)

    # findings

    def _syntax(self, error: yaml.MarkedYAMLError) -> None:
        mark = error.problem_mark or error.context_mark
        if mark is None:
            self._add(str(error.problem), self._at(self._end), "")
            return
        context = error.context_mark
        begun = None if context is None or context.index == mark.index else context
        trouble = complaint(
            self._text,
            self._file,
            problem=str(error.problem),
            at=(mark.line, mark.column),
            context=str(error.context),
            begun=None if begun is None else (begun.line, begun.column),
        )
        self._add(trouble.message, trouble.span, trouble.remedy, *trouble.related)

    def _pointer(self) -> str:
        pointer = ""
        for key in self._path:
            pointer = under(pointer, key)
        return pointer

    def _stop(
        self, message: str, span: Span, remedy: str, *, pointer: str | None = None
    ) -> NoReturn:
        self._add(message, span, remedy, pointer=pointer)
        raise _StopError

    def _error(self, message: str, span: Span, remedy: str) -> None:
        self._add(message, span, remedy)

    def _add(
        self, message: str, span: Span, remedy: str, *related: Related, pointer: str | None = None
    ) -> None:
        at = self._pointer() if pointer is None else pointer
        self._problems.add(STRICT, message, span, at, help=remedy, related=related)
