"""The checked AST of an expression as a `Sym`: what it can be, given unknowns for what it reads."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from dagflow.compiler.proofs.solver import functions
from dagflow.compiler.proofs.solver.encoder import Encoder, text_of
from dagflow.compiler.proofs.solver.loops import looped
from dagflow.compiler.proofs.solver.shapes import (
    Bool,
    Environment,
    Fields,
    Formula,
    Maybe,
    Shape,
    Strange,
    Sym,
    listed,
)
from dagflow.compiler.proofs.solver.variables import constant
from dagflow.expr.ast import (
    Call,
    Const,
    Let,
    ListOf,
    Loop,
    MapOf,
    Node,
    Select,
    Var,
)


class Encoding(Encoder):
    """The encoding of one question's expressions."""

    def encode(self, node: Node, names: Environment) -> Sym:
        """Return what an expression can be."""
        self.count()
        match node:
            case Const():
                return self._const(node)
            case Var(name=name):
                return names[name] if name in names else self._variable(name)
            case Select():
                return self._select(node, names)
            case ListOf(optional=()):
                return self._list([self.encode(item, names) for item in node.items])
            case MapOf(optional=()):
                return self._map(node, names)
            case Loop():
                return looped(self, node, names)
            case Let():
                return self._let(node, names)
            case Call():
                return self._call(node, names)
        return self.unknown(node)

    def _let(self, node: Let, names: Environment) -> Sym:
        value = self.encode(node.value, names)
        with self.inside(f"{node.name}={text_of(node.value)}"):
            return self.encode(node.body, {**names, node.name: value})

    def _const(self, node: Const) -> Sym:
        if isinstance(node.value, bytes) or node.kind == "uint":
            return self.unknown(node)
        value = (
            float(node.value) if node.kind == "double" and node.value is not None else node.value
        )
        return self.logic.certain(constant(self.logic, value))

    def _variable(self, name: str) -> Sym:
        type_ = self.root(name)
        if type_ is None:
            return self.variables.opaque(f"variable {name}", fails=False)
        return self.variables.root(name, type_).sym

    def _select(self, node: Select, names: Environment) -> Sym:
        of = self.encode(node.of, names)
        if node.test:
            return self.logic.product((of,), lambda shape: self._has(shape, node))
        return self.logic.product((of,), lambda shape: self._field(shape, node.field, node))

    def _has(self, shape: Shape, node: Select) -> Sym | Shape | None:
        match shape:
            case Fields():
                return Bool(shape.get(node.field)[0])
            case Maybe() | Strange():
                return self.unknown(node, ("bool",))
        return None

    def _field(self, shape: Shape, name: str, node: Node) -> Sym | Shape | None:
        match shape:
            case Fields():
                return self.logic.under(*shape.get(name))
            case Maybe():
                return _opened(self, shape, name)
            case Strange():
                return self.unknown(node)
        return None

    def _list(self, items: list[Sym]) -> Sym:
        defined = self.logic.all(*(self.logic.defined(item) for item in items))
        shape = listed(self.logic.int(len(items)), items, whole=True)
        return self.logic.under(defined, self.logic.certain(shape))

    def _map(self, node: MapOf, names: Environment) -> Sym:
        keys = [key.value for key, _ in node.entries if isinstance(key, Const)]
        if len(set(keys)) != len(node.entries) or not all(isinstance(key, str) for key in keys):
            return self.unknown(node)
        entries = {
            str(key): self.encode(value, names)
            for key, (_, value) in zip(keys, node.entries, strict=True)
        }

        def get(name: str) -> tuple[Formula, Sym]:
            found = entries.get(name)
            return (self.logic.false(), Sym(())) if found is None else (self.logic.true(), found)

        defined = self.logic.all(*(self.logic.defined(value) for value in entries.values()))
        return self.logic.under(defined, self.logic.certain(Fields(get, tuple(entries))))

    def _call(self, node: Call, names: Environment) -> Sym:
        special = _SPECIAL.get(node.function)
        if special is not None:
            return special(self, node, names)
        operands = [self.encode(operand, names) for operand in node.operands]
        return functions.called(self, node, operands)


def _maybe_field(encoder: Encoder, of: Sym, name: str, node: Node) -> Sym:
    """Return `of.?name`: an optional, empty where there is no such field."""

    def take(shape: Shape) -> Sym | Shape | None:
        match shape:
            case Fields():
                return Maybe(*shape.get(name))
            case Maybe():
                return _opened(encoder, shape, name)
            case Strange():
                return encoder.unknown(node)
        return None

    return encoder.logic.product((of,), take)


def _opened(encoder: Encoder, maybe: Maybe, name: str) -> Sym:
    """Return the field of what an optional holds: an error where that is no object."""
    inside = encoder.logic.product(
        (maybe.value,),
        lambda shape: Maybe(*shape.get(name)) if isinstance(shape, Fields) else None,
    )
    empty = encoder.logic.certain(Maybe(encoder.logic.false(), Sym(())))
    return encoder.logic.either((maybe.present, inside), (encoder.logic.no(maybe.present), empty))


def _and(encoder: Encoder, node: Call, names: Environment) -> Sym:
    parts = [encoder.logic.truth(encoder.encode(arg, names)) for arg in node.args]
    return encoder.logic.bool(
        encoder.logic.all(*(holds for holds, _ in parts)),
        encoder.logic.any(*(fails for _, fails in parts)),
    )


def _or(encoder: Encoder, node: Call, names: Environment) -> Sym:
    parts = [encoder.logic.truth(encoder.encode(arg, names)) for arg in node.args]
    return encoder.logic.bool(
        encoder.logic.any(*(holds for holds, _ in parts)),
        encoder.logic.all(*(fails for _, fails in parts)),
    )


def _not(encoder: Encoder, node: Call, names: Environment) -> Sym:
    holds, fails = encoder.logic.truth(encoder.encode(node.args[0], names))
    return encoder.logic.bool(fails, holds)


def _choice(encoder: Encoder, node: Call, names: Environment) -> Sym:
    test, yes, no = node.args
    holds, fails = encoder.logic.truth(encoder.encode(test, names))
    return encoder.logic.either(
        (holds, encoder.encode(yes, names)), (fails, encoder.encode(no, names))
    )


def _maybe(encoder: Encoder, node: Call, names: Environment) -> Sym:
    of, name = node.args
    if isinstance(name, Const) and isinstance(name.value, str):
        return _maybe_field(encoder, encoder.encode(of, names), name.value, node)
    return encoder.unknown(node)


def _or_value(encoder: Encoder, node: Call, names: Environment) -> Sym:
    maybe, *others = (encoder.encode(operand, names) for operand in node.operands)

    def take(shape: Shape) -> Sym | Shape | None:
        match shape:
            case Maybe():
                absent = encoder.logic.no(shape.present)
                return encoder.logic.either((shape.present, shape.value), (absent, others[0]))
            case Strange():
                return encoder.unknown(node)
        return None

    return encoder.logic.product((maybe,), take)


_SPECIAL: Final[Mapping[str, Callable[[Encoder, Call, Environment], Sym]]] = {
    "_&&_": _and,
    "_||_": _or,
    "!_": _not,
    "_?_:_": _choice,
    "_?._": _maybe,
    "_[?_]": _maybe,
    "orValue": _or_value,
}
