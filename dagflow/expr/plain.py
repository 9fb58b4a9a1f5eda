"""Most expressions, read without the CEL library: paths, literals, operators and calls.

The library's parser is the authority: it reads whatever is left over here (macros, escapes, maps,
long texts, every mistake), and a property test holds the two equal on what both read. Loading it
takes longer than checking a hundred steps does, and most workflows don't need it for that.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, NoReturn

from dagflow.expr.ast import At, Call, Const, ListOf, Node, Select, Var
from dagflow.expr.lexer import Token, tokens
from dagflow.expr.places import Places

MAX_TOKENS: Final = 48
"""Far from the library's limits of nesting, which are then its own to tell."""

RESERVED: Final = frozenset(
    {
        *("as", "break", "const", "continue", "else", "false", "for", "function", "if", "import"),
        *("in", "let", "loop", "namespace", "null", "package", "return", "true", "var", "void"),
        "while",
    }
)
NAMESPACES: Final = frozenset({"math", "optional", "base64", "strings"})

_MACROS: Final = frozenset(
    {"has", "all", "exists", "exists_one", "existsOne", "map", "filter", "optMap", "optFlatMap"}
)
_WORDS: Final[Mapping[str, Const]] = {
    "true": Const("bool", True), "false": Const("bool", False), "null": Const("null", None),
}  # fmt: skip
_BINARY: Final[Mapping[str, tuple[int, str]]] = {
    "==": (3, "_==_"), "!=": (3, "_!=_"), "<": (3, "_<_"), "<=": (3, "_<=_"), ">": (3, "_>_"),
    ">=": (3, "_>=_"), "in": (3, "@in"), "+": (4, "_+_"), "-": (4, "_-_"), "*": (5, "_*_"),
    "/": (5, "_/_"), "%": (5, "_%_"),
}  # fmt: skip
_NO_OPERATOR: Final = (0, "")
_LOGIC: Final[Mapping[str, tuple[int, str]]] = {"||": (1, "_||_"), "&&": (2, "_&&_")}
_UNARY: Final[Mapping[str, str]] = {"-": "-_", "!": "!_"}
_BEHIND: Final = frozenset({".", ".?", "[", "[?"})
_PLAIN_TEXT: Final = re.compile(r"""(["'])[^"'\\\n\r]*\1""")
_END: Final = Token("end", "", 0)


class _LeftOver(Exception):  # noqa: N818  # no error: the library's parser goes on
    """This text is not one that is read here."""


def parse(text: str) -> Node | None:
    """Return the AST of a plain expression, or None: then the library has to read the text."""
    found = tokens(text)
    if not found or len(found) > MAX_TOKENS:
        return None
    reader = _Reader(found)
    try:
        node = reader.choice()
    except _LeftOver:
        return None
    return node if reader.next is _END else None


class _Reader:
    """A recursive descent over the tokens, by CEL's grammar and its precedence."""

    def __init__(self, found: tuple[Token, ...]) -> None:
        self._tokens = (*found, _END, _END)
        self._at = 0
        self._places = Places(found)
        self.next = self._tokens[0]
        """The token that is to be read."""

    def choice(self) -> Node:
        """Read `a`, or `a ? b : c`."""
        test = self._logic(1)
        if self.next.text != "?":
            return test
        mark = self._take("?")
        chosen = self._logic(1)
        self._take(":")
        return self._made("_?_:_", (test, chosen, self.choice()), mark)

    def _logic(self, level: int) -> Node:
        """Read a chain of `||` (level 1) or `&&` (level 2), which the library balances."""
        if level > 2:  # noqa: PLR2004
            return self._binary()
        terms, marks = [self._logic(level + 1)], []
        while _LOGIC.get(self.next.text, _NO_OPERATOR)[0] == level:
            marks.append(self._step())
            terms.append(self._logic(level + 1))
        return self._balanced(terms, marks) if marks else terms[0]

    def _balanced(self, terms: list[Node], marks: list[Token]) -> Node:
        middle = len(marks) // 2
        left, right = terms[: middle + 1], terms[middle + 1 :]
        first = self._balanced(left, marks[:middle]) if middle else left[0]
        rest = marks[middle + 1 :]
        last = self._balanced(right, rest) if rest else right[0]
        return self._made(_LOGIC[marks[middle].text][1], (first, last), marks[middle])

    def _binary(self, least: int = 3) -> Node:
        """Read left-associative operators that bind at least so strongly (precedence climbing)."""
        node = self._unary()
        while True:
            level, function = _BINARY.get(self.next.text, _NO_OPERATOR)
            if level < least or self.next.kind == "string":
                return node
            mark = self._step()
            node = self._made(function, (node, self._binary(level + 1)), mark)

    def _unary(self) -> Node:
        mark, behind = self.next, self._tokens[self._at + 1]
        if mark.text not in _UNARY or (mark.text == "-" and behind.kind == "number"):
            return self._member()
        if behind.text in _UNARY:
            _leave()
        self._step()
        return self._made(_UNARY[mark.text], (self._member(),), mark)

    def _member(self) -> Node:
        """Read a value and the fields, indices and calls behind it."""
        first = self.next
        node = self._primary()
        while self.next.kind == "mark" and self.next.text in _BEHIND:
            mark = self._step()
            if mark.text == ".?":
                key = Const("string", self._field_name(), self._places.place(first.start))
                node = self._made("_?._", (node, key), mark)
            else:
                node = self._field(node, mark) if mark.text == "." else self._index(node, mark)
        return node

    def _field_name(self) -> str:
        name = self._step()
        if name.kind != "name" or name.text in {"true", "false", "null", "in"}:
            _leave()
        return name.text

    def _field(self, node: Node, mark: Token) -> Node:
        name = self._field_name()
        if self.next.text != "(":
            return Select(node, name, at=self._places.place(mark.start, node.at))
        if name in _MACROS or (isinstance(node, Var) and node.name in NAMESPACES):
            _leave()
        opening, args = self._step(), self._items(")")
        at = self._places.place(opening.start, *_stretches(args), node.at)
        return Call(name, args, node, at)

    def _index(self, node: Node, mark: Token) -> Node:
        key = self.choice()
        self._take("]")
        return self._made("_[?_]" if mark.text == "[?" else "_[_]", (node, key), mark)

    def _primary(self) -> Node:
        token = self._step()
        if token.text == "(" and token.kind == "mark":
            node = self.choice()
            self._take(")")
            return node
        if token.text == "[" and token.kind == "mark":
            items = self._items("]")
            return ListOf(items, (), self._places.place(token.start, *_stretches(items)))
        if token.text == "-":
            return self._number(self._step(), token.start, -1)
        if token.kind == "number":
            return self._number(token, token.start)
        if token.kind == "string" and _PLAIN_TEXT.fullmatch(token.text):
            return Const("string", token.text[1:-1], self._places.place(token.start))
        return self._name(token)

    def _name(self, token: Token) -> Node:
        at = self._places.place(token.start)
        if token.kind != "name":
            _leave()
        if token.text in _WORDS:
            return Const(_WORDS[token.text].kind, _WORDS[token.text].value, at)
        if token.text in RESERVED:
            _leave()
        if self.next.text != "(":
            return Var(token.text, at)
        if token.text in _MACROS:
            _leave()
        opening, args = self._step(), self._items(")")
        return Call(token.text, args, None, self._places.place(opening.start, *_stretches(args)))

    def _number(self, token: Token, start: int, sign: int = 1) -> Const:
        at = self._places.place(start)
        if token.text.isascii() and token.text.isdecimal() and len(token.text) <= 18:  # noqa: PLR2004  # fits 64 bits
            return Const("int", sign * int(token.text), at)
        if re.fullmatch(r"\d{1,15}\.\d{1,15}", token.text, re.ASCII):
            return Const("double", sign * float(token.text), at)
        return _leave()

    def _items(self, closing: str) -> tuple[Node, ...]:
        """Read what stands between an opening mark, which is read already, and the closing one."""
        found: list[Node] = []
        while self.next.text != closing:
            if found:
                self._take(",")
            found.append(self.choice())
        self._step()
        return tuple(found)

    def _made(self, function: str, args: tuple[Node, ...], mark: Token) -> Call:
        return Call(function, args, None, self._places.place(mark.start, *_stretches(args)))

    def _step(self) -> Token:
        token = self.next
        if token is _END:
            _leave()
        self._at += 1
        self.next = self._tokens[self._at]
        return token

    def _take(self, text: str) -> Token:
        if self.next.text != text or self.next.kind != "mark":
            _leave()
        return self._step()


def _stretches(nodes: tuple[Node, ...]) -> tuple[At, ...]:
    return tuple(node.at for node in nodes)


def _leave() -> NoReturn:
    raise _LeftOver
