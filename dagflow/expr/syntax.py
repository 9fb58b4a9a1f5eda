"""From the text of an expression to its AST, with the place of every sub-expression."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

from dagflow.core.records import dataclass
from dagflow.expr import library, plain, wire
from dagflow.expr.ast import At, Call, Const, Let, ListOf, Loop, MapOf, Node, Select, Var
from dagflow.expr.lexer import tokens
from dagflow.expr.places import Places
from dagflow.expr.plain import NAMESPACES
from dagflow.expr.problem import Problem, ProblemKind, Refused

MAX_BYTES = 4096
MAX_NESTING = 32
_ERROR = re.compile(r"ERROR: <input>:(\d+):(\d+): (?:Syntax error: )?(.*)")
_INPUT = re.compile(r"(?:input|at|at:) '(.*?)'(?: expecting|$)", re.DOTALL)
_INSTEAD = {
    "=": "compare with `==`",
    "and": "write `&&`",
    "or": "write `||`",
    "not": "write `!`",
    "?": "an optional field is `a.?b`; a choice is `a ? b : c`",
    "%}": "an expression ends with `}}`",
}


@lru_cache(maxsize=1024)
def parse(text: str) -> Node:
    """Return the AST of `text`; raises `Refused` with a problem."""
    _check_text(text)
    return plain.parse(text) or by_library(text)


def by_library(text: str) -> Node:
    """Return the AST as the CEL library's parser has it; raises `Refused` with a problem."""
    try:
        serialised = library.parse(text)
    except RuntimeError as error:
        raise Refused(_syntax_problem(text, str(error))) from None
    expression, places = wire.unwrap(serialised)
    return _Reader(Places(tokens(text)), places).node(expression)


def _check_text(text: str) -> None:
    if not text.strip():
        _refuse("expression-type", "the expression is empty", 0, len(text))
    if "\0" in text or not _encodes(text):
        _refuse("expression-type", "the expression holds a character CEL can't", 0, len(text))
    if (size := len(text.encode())) > MAX_BYTES:
        message = f"the expression is {size} bytes long, {MAX_BYTES} are allowed"
        _refuse("expression-cost", message, 0, len(text), "split it over transform steps")


def _encodes(text: str) -> bool:
    try:
        return bool(text.isascii() or text.encode())
    except UnicodeEncodeError:
        return False


def _refuse(kind: ProblemKind, message: str, start: int, length: int, help_: str = "") -> None:
    raise Refused(Problem(kind, message, start, length, help_))


def _syntax_problem(text: str, said: str) -> Problem:
    if "recursion" in said:
        return Problem(
            "expression-cost",
            f"the expression is nested deeper than {MAX_NESTING} levels",
            0,
            len(text),
            "split it; chains of && and || count as one level, chains of + do not",
        )
    found = _ERROR.search(said)
    if found is None:
        words = said.partition(": ")[2].partition(" [")[0] or said
        return Problem("expression-type", f"the expression can't be read: {words}", 0, len(text))
    offset = _offset(text, int(found[1]), int(found[2]))
    return _described(text, min(offset, len(text)), found[3])


def _offset(text: str, line: int, column: int) -> int:
    lines = text.split("\n")[: line - 1]
    return sum(len(before) + 1 for before in lines) + column - 1


def _described(text: str, offset: int, said: str) -> Problem:
    token = next((t for t in tokens(text) if t.start <= offset < t.end), None)
    shown = token.text if token else ""
    start, length = (token.start, len(token.text)) if token else (offset, 0)
    if token and token.kind == "string" and "recognition" in said:
        message = f"the string {_short(shown)} is not closed, or has an escape that CEL lacks"
        return Problem("expression-type", message, start, length)
    if said.startswith("reserved identifier"):
        message = f"{shown!r} is a reserved word and can't name a variable"
        return Problem("expression-type", message, start, length)
    if not token and ("<EOF>" in said or "recognition" in said):
        message = "the expression ends too early"
        closing = re.search(r"missing '(.)'", said) or re.search(r"expecting '(.)'", said)
        message += f", {closing[1]!r} is missing" if closing else ""
        return Problem("expression-type", message, offset, 0)
    if re.search(r"mismatched|extraneous|viable|recognition|missing", said):
        help_ = _INSTEAD.get(shown, "")
        return Problem("expression-type", f"unexpected {_short(shown)}", start, length, help_)
    return Problem("expression-type", said.rstrip(), start, length)


def _short(text: str) -> str:
    return repr(text if len(text) <= 20 else text[:19] + "…")  # noqa: PLR2004


@dataclass(slots=True)
class _Reader:
    text: Places
    places: dict[int, int]

    def node(self, data: bytes) -> Node:
        number, kind, body = 0, _CONST, b""
        for field, value in wire.fields(data):
            if field == _ID:
                number = wire.as_int(value)
            else:
                kind, body = field, wire.as_bytes(value)
        position = self.places.get(number, 0)
        part = wire.fields(body)
        if kind == _CONST:
            return _constant(part, self.text.place(position))
        if kind == _IDENT:
            return Var(wire.as_bytes(part[0][1]).decode(), self.text.place(position))
        return _READERS[kind](self, part, position)

    def _list(self, part: list[wire.Field], position: int) -> Node:
        items = tuple(self.node(item) for item in wire.messages(part, 1))
        at = self.text.place(position, *(item.at for item in items))
        return ListOf(items, _packed(part), at)

    def _select(self, part: list[wire.Field], position: int) -> Node:
        found = dict(part)
        of = self.node(wire.as_bytes(found.get(1, b"")))
        name = wire.as_bytes(found.get(2, b"")).decode()
        return Select(of, name, 3 in found, self.text.place(position, of.at))  # noqa: PLR2004

    def _call(self, part: list[wire.Field], position: int) -> Node:
        args = tuple([self.node(arg) for arg in wire.messages(part, 3)])
        found = dict(part)
        on = self.node(wire.as_bytes(found[1])) if 1 in found else None
        name = wire.as_bytes(found.get(2, b"")).decode()
        parts = [arg.at for arg in args] + ([on.at] if on else [])
        at = self.text.place(position, *parts)
        if isinstance(on, Var) and on.name in NAMESPACES:
            return Call(f"{on.name}.{name}", args, None, at)
        return Call(name, args, on, at)

    def _map(self, part: list[wire.Field], position: int) -> Node:
        if name := wire.message(part, 1).decode():
            start, end = self.text.place(position)
            message = f"messages such as {name!r} can't be made here"
            help_ = "write a map, such as {'a': 1}"
            raise Refused(Problem("expression-type", message, start, end - start, help_))
        found = [wire.fields(entry) for entry in wire.messages(part, 2)]
        entries = tuple(
            (self.node(wire.message(e, 3)), self.node(wire.message(e, 4))) for e in found
        )
        optional = tuple(i for i, entry in enumerate(found) if any(n == 5 for n, _ in entry))  # noqa: PLR2004
        return MapOf(entries, optional, self.text.place(position))

    def _fold(self, part: list[wire.Field], position: int) -> Node:
        name, accu = (wire.message(part, number).decode() for number in (1, 3))
        if name == "#unused":
            value, body = self.node(wire.message(part, 4)), self.node(wire.message(part, 7))
            return Let(accu, value, body, self.text.place(position, value.at))
        over, start, go_on, step = (self.node(wire.message(part, n)) for n in (2, 4, 5, 6))
        at = self.text.place(position, over.at)
        if not isinstance(step, Call):
            raise Refused(Problem("expression-type", "this macro is not known", at[0], 0))
        return _loop(name, over, (start, go_on, step), at)


def _packed(part: list[wire.Field]) -> tuple[int, ...]:
    """Return the indices of a list's optional elements, however they are packed."""
    found: list[int] = []
    for number, value in part:
        if number != 2:  # noqa: PLR2004
            continue
        if isinstance(value, int):
            found.append(value)
            continue
        at = 0
        while at < len(value):
            index, at = wire.read_varint(value, at)
            found.append(index)
    return tuple(found)


_ID, _CONST, _IDENT = 2, 3, 4
_READERS: dict[int, Callable[[_Reader, list[wire.Field], int], Node]] = {
    5: _Reader._select,  # noqa: SLF001  # the table of the class just above
    6: _Reader._call,  # noqa: SLF001
    7: _Reader._list,  # noqa: SLF001
    8: _Reader._map,  # noqa: SLF001
    9: _Reader._fold,  # noqa: SLF001
}


def _loop(name: str, over: Node, fold: tuple[Node, Node, Call], at: At) -> Loop:
    """Return the loop that a macro was written as, from the loop it was expanded to."""
    start, go_on, step = fold
    if isinstance(go_on, Call):
        return Loop("all" if step.function == "_&&_" else "exists", name, over, step.args[1], at=at)
    if isinstance(start, Const):
        return Loop("one", name, over, step.args[0], at=at)
    test = step.args[0] if step.function == "_?_:_" else None
    grown = step.args[1]
    added = grown if isinstance(grown, ListOf) else _args(grown)[1]
    item = added.items[0] if isinstance(added, ListOf) else added
    if test is not None and isinstance(item, Var) and item.name == name:
        return Loop("filter", name, over, test, at=at)
    return Loop("map", name, over, test, item, at)


def _args(node: Node) -> tuple[Node, ...]:
    return node.args if isinstance(node, Call) else ()


def _constant(part: list[wire.Field], at: At) -> Const:
    number, value = part[-1] if part else (1, 0)
    if isinstance(value, int):
        if number == 2:  # noqa: PLR2004  # the numbers of the message's fields
            return Const("bool", bool(value), at)
        if number == 3:  # noqa: PLR2004
            return Const("int", wire.signed(value), at)
        return Const("uint", value, at) if number == 4 else Const("null", None, at)  # noqa: PLR2004
    if number == 5:  # noqa: PLR2004
        return Const("double", wire.as_double(value), at)
    if number == 6:  # noqa: PLR2004
        return Const("string", value.decode(), at)
    return Const("bytes", value, at)
