"""The canonical AST as bytes that the CEL library plans and runs; macros are written out."""

from __future__ import annotations

from dataclasses import field

from dagflow.core.errors import BugError
from dagflow.core.records import dataclass
from dagflow.expr import wire
from dagflow.expr.ast import Call, Const, Let, ListOf, Loop, MapOf, Node, Select, Var
from dagflow.expr.functions import WRAPPED

_ACCU = "@result"
_TRUE, _FALSE = Const("bool", True), Const("bool", False)
_ZERO, _ONE = Const("int", 0), Const("int", 1)


def encode(node: Node) -> bytes:
    """Write the node as a serialised parsed expression."""
    return wire.parsed(_Encoder().expr(node))


@dataclass(slots=True)
class _Fold:
    """What a macro becomes: a loop with an accumulator."""

    start: Node
    go_on: Node
    step: Node
    result: Node = field(default_factory=lambda: Var(_ACCU))


@dataclass(slots=True)
class _Encoder:
    last: int = 0

    def expr(self, node: Node) -> bytes:
        self.last += 1
        return wire.integer(2, self.last) + self._body(node)

    def _body(self, node: Node) -> bytes:
        match node:
            case Const():
                return wire.block(3, _constant(node))
            case Var():
                return wire.block(4, wire.text(1, node.name))
            case Select():
                tested = wire.integer(3, 1) if node.test else b""
                operand = wire.block(1, self.expr(node.of))
                return wire.block(5, operand + wire.text(2, node.field) + tested)
            case Call():
                return wire.block(6, self._call(node))
            case ListOf():
                return wire.block(7, self._list(node))
            case MapOf():
                return wire.block(8, self._map(node))
            case Loop():
                return wire.block(9, self._fold(node.var, node.over, _fold_of(node)))
            case Let():
                # the library has no binding of its own: a loop over nothing that starts at it
                fold = _Fold(node.value, _FALSE, Var(node.name), node.body)
                return wire.block(9, self._fold("#unused", ListOf(()), fold, node.name))

    def _call(self, node: Call) -> bytes:
        args = (ListOf(node.args),) if node.function in WRAPPED and node.on is None else node.args
        on = wire.block(1, self.expr(node.on)) if node.on is not None else b""
        return on + wire.text(2, node.function) + wire.blocks(3, [self.expr(a) for a in args])

    def _list(self, node: ListOf) -> bytes:
        indices = b"".join(wire.varint(index) for index in node.optional)
        optional = wire.block(2, indices) if indices else b""
        return wire.blocks(1, [self.expr(item) for item in node.items]) + optional

    def _map(self, node: MapOf) -> bytes:
        return wire.blocks(2, [self._entry(node, i) for i in range(len(node.entries))])

    def _entry(self, node: MapOf, index: int) -> bytes:
        self.last += 1
        key, value = node.entries[index]
        optional = wire.integer(5, 1) if index in node.optional else b""
        parts = wire.block(3, self.expr(key)) + wire.block(4, self.expr(value))
        return wire.integer(1, self.last) + parts + optional

    def _fold(self, var: str, over: Node, fold: _Fold, accu: str = _ACCU) -> bytes:
        parts = enumerate((fold.start, fold.go_on, fold.step, fold.result), start=4)
        return (
            wire.text(1, var)
            + wire.block(2, self.expr(over))
            + wire.text(3, accu)
            + b"".join(wire.block(number, self.expr(part)) for number, part in parts)
        )


def _fold_of(node: Loop) -> _Fold:
    accu: Node = Var(_ACCU)
    test = node.test if node.test is not None else _TRUE
    if node.kind == "all":
        go_on = Call("@not_strictly_false", (accu,))
        return _Fold(_TRUE, go_on, Call("_&&_", (accu, test)))
    if node.kind == "exists":
        go_on = Call("@not_strictly_false", (Call("!_", (accu,)),))
        return _Fold(_FALSE, go_on, Call("_||_", (accu, test)))
    if node.kind == "one":
        counted = Call("_?_:_", (test, Call("_+_", (accu, _ONE)), accu))
        return _Fold(_ZERO, _TRUE, counted, Call("_==_", (accu, _ONE)))
    item = node.item if node.item is not None else Var(node.var)
    grown = Call("_+_", (accu, ListOf((item,))))
    step = grown if node.test is None else Call("_?_:_", (test, grown, accu))
    return _Fold(ListOf(()), _TRUE, step)


def _constant(node: Const) -> bytes:
    match node.kind, node.value:
        case "null", None:
            return wire.integer(1, 0)
        case "bool", bool(flag):
            return wire.integer(2, int(flag))
        case "int", int(number):
            return wire.integer(3, number)
        case "uint", int(number):
            return wire.integer(4, number)
        case "double", float(real):
            return wire.double(5, real)
        case "string", str(text):
            return wire.text(6, text)
        case "bytes", bytes(data):
            return wire.block(7, data)
    raise BugError(f"a constant of kind {node.kind} holds {node.value!r}")
