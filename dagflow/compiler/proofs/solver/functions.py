"""CEL's functions over shapes: those that are encoded, and of the others what they give."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Final

from dagflow.compiler.proofs.solver.encoder import Encoder
from dagflow.compiler.proofs.solver.operators import EXACT, text_of
from dagflow.compiler.proofs.solver.regex import to_z3
from dagflow.compiler.proofs.solver.shapes import (
    Bool,
    Double,
    Duration,
    Fields,
    Instant,
    Int,
    Items,
    Maybe,
    Shape,
    Strange,
    Sym,
    Text,
)
from dagflow.core.values import INT64_MAX, INT64_MIN
from dagflow.expr.ast import Call
from dagflow.expr.signatures import signatures

Take = Callable[..., "Sym | Shape | None"]


def called(encoder: Encoder, node: Call, operands: list[Sym]) -> Sym:
    """Return what a call gives: exactly where it is encoded, else a value of its kind."""
    operator = _OPERATORS.get(node.function)
    if operator is not None:
        return operator(encoder, node, operands)
    take = _FUNCTIONS.get((node.function, len(operands)))
    if take is None:
        return _of_kind(encoder, node, operands)
    return encoder.logic.product(operands, lambda *shapes: take(encoder, node, *shapes))


def _of_kind(encoder: Encoder, node: Call, operands: list[Sym]) -> Sym:
    """Return an unknown of the kind that the function gives; an error where an operand is."""
    name = f".{node.function}" if node.on is not None else node.function
    gives = {overload.gives for overload in signatures().get(name, ())}
    kinds = tuple(_KINDS[kind] for kind in gives if kind in _KINDS)
    found = encoder.unknown(node, kinds if len(kinds) == len(gives) == 1 else ())
    defined = encoder.logic.all(*(encoder.logic.defined(operand) for operand in operands))
    return encoder.logic.under(defined, found)


_KINDS: Final = {
    "bool": "bool", "int": "int", "double": "double", "string": "string", "size": "int",
    "timestamp": "timestamp", "duration": "duration", "list(string)": "list",
}  # fmt: skip


def _size(encoder: Encoder, node: Call, value: Shape) -> Sym | Shape | None:
    logic = encoder.logic
    match value:
        case Text(term=term):
            return Int(logic.z3.Length(term))
        case Items(length=length):
            return Int(length)
        case Fields(names=names) if names is not None:
            ones = [logic.z3.If(value.get(n)[0], logic.int(1), logic.int(0)) for n in names]
            return Int(logic.z3.Sum([logic.int(0), *ones]))
        case Fields():
            return Int(encoder.variables.whole(f"size {encoder.name_of(node)}", 0))
        case Strange():
            return encoder.unknown(node, ("int",))
    return None


def _text_test(test: Callable[..., object]) -> Take:
    def take(encoder: Encoder, node: Call, left: Shape, right: Shape) -> Sym | Shape | None:
        if isinstance(left, Text) and isinstance(right, Text):
            return Bool(test(encoder.logic.z3, left.term, right.term))
        return encoder.unknown(node, ("bool",)) if _is_strange(left, right) else None

    return take


def _is_strange(*shapes: Shape) -> bool:
    return any(isinstance(shape, Strange) for shape in shapes)


def _matches(encoder: Encoder, node: Call, value: Shape, pattern: Shape) -> Sym | Shape | None:
    if not isinstance(value, Text) or not isinstance(pattern, Text):
        return encoder.unknown(node, ("bool",)) if _is_strange(value, pattern) else None
    logic = encoder.logic
    if not logic.z3.is_string_value(pattern.term):
        return encoder.unknown(node, ("bool",))
    language = to_z3(text_of(pattern.term), logic)
    if language is None:
        return encoder.unknown(node, ("bool",))
    return Bool(logic.z3.InRe(value.term, language))


def _double(encoder: Encoder, node: Call, value: Shape) -> Sym | Shape | None:
    """Turn a number into a double: exactly within 53 bits, beyond them into an unknown."""
    logic = encoder.logic
    match value:
        case Double():
            return value
        case Int(term=term):
            exact = logic.all(term >= -EXACT, term <= EXACT)
            rounded = encoder.variables.opaque(
                f"double {encoder.name_of(node)}", ("double",), fails=False
            )
            whole = logic.certain(Double(logic.z3.ToReal(term), logic.false()))
            return logic.either((exact, whole), (logic.no(exact), rounded))
        case Text() | Strange():
            return encoder.unknown(node, ("double",))
    return None


def _int(encoder: Encoder, node: Call, value: Shape) -> Sym | Shape | None:
    """Turn a number into an integer, towards zero; what is too large is an error."""
    logic = encoder.logic
    match value:
        case Int():
            return value
        case Double(term=term, nan=nan):
            z3 = logic.z3
            whole = z3.If(term >= 0, z3.ToInt(term), -z3.ToInt(-term))
            fits = logic.all(logic.no(nan), whole > INT64_MIN, whole < INT64_MAX - 1024)
            edge = logic.all(logic.no(nan), logic.no(fits))
            near = encoder.unknown(node, ("int",))
            return logic.either((fits, logic.certain(Int(whole))), (edge, near))
        case Instant() | Text() | Strange():
            return encoder.unknown(node, ("int",))
    return None


def _string(encoder: Encoder, node: Call, value: Shape) -> Sym | Shape | None:
    if isinstance(value, Text):
        return value
    if isinstance(value, Int | Double | Bool | Instant | Duration | Strange):
        return encoder.unknown(node, ("string",))
    return None


def _dyn(_encoder: Encoder, _node: Call, value: Shape) -> Shape:
    return value


def _timestamp(encoder: Encoder, node: Call, value: Shape) -> Sym | Shape | None:
    if isinstance(value, Instant):
        return value
    if isinstance(value, Text) and encoder.logic.z3.is_string_value(value.term):
        nanos = _nanos(text_of(value.term))
        return None if nanos is None else Instant(encoder.logic.int(nanos))
    sure = isinstance(value, Text) and value.is_instant
    return encoder.variables.opaque(encoder.name_of(node), ("timestamp",), fails=not sure)


def _nanos(text: str) -> int | None:
    """Return the nanoseconds of an RFC 3339 instant, None where they can't be told exactly."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    if found.tzinfo is None:
        return None
    delta = found.astimezone(UTC) - datetime(1970, 1, 1, tzinfo=UTC)
    return (delta.days * 86_400 + delta.seconds) * 10**9 + delta.microseconds * 1_000


def _duration(encoder: Encoder, node: Call, value: Shape) -> Sym | Shape | None:
    if isinstance(value, Duration):
        return value
    if isinstance(value, Text) and encoder.logic.z3.is_string_value(value.term):
        nanos = _length(text_of(value.term))
        if nanos is not None:
            return Duration(encoder.logic.int(nanos))
    return encoder.unknown(node, ("duration",))


_UNITS: Final = {"h": 3_600 * 10**9, "m": 60 * 10**9, "s": 10**9}


def _length(text: str) -> int | None:
    """Return the nanoseconds of a plain duration such as "90s" or "1h30m", else None."""
    total, number = 0, ""
    for char in text:
        if char.isdecimal():
            number += char
        elif char in _UNITS and number:
            total, number = total + int(number) * _UNITS[char], ""
        else:
            return None
    return None if number or not text else total


def _has_value(encoder: Encoder, node: Call, value: Shape) -> Sym | Shape | None:
    if isinstance(value, Maybe):
        return Bool(value.present)
    return encoder.unknown(node, ("bool",)) if _is_strange(value) else None


def _value(encoder: Encoder, node: Call, value: Shape) -> Sym | Shape | None:
    if isinstance(value, Maybe):
        return encoder.logic.under(value.present, value.value)
    return encoder.unknown(node) if _is_strange(value) else None


def _or(encoder: Encoder, node: Call, value: Shape, other: Shape) -> Sym | Shape | None:
    if not isinstance(value, Maybe):
        return encoder.unknown(node) if _is_strange(value) else None
    logic = encoder.logic
    absent = logic.no(value.present)
    return logic.either((value.present, logic.certain(value)), (absent, logic.certain(other)))


def _some(_encoder: Encoder, _node: Call, value: Shape) -> Shape:
    logic = _encoder.logic
    return Maybe(logic.true(), logic.certain(value))


def _none(encoder: Encoder, _node: Call, _operands: list[Sym]) -> Sym:
    return encoder.logic.certain(Maybe(encoder.logic.false(), Sym(())))


_FUNCTIONS: Final[Mapping[tuple[str, int], Take]] = {
    ("size", 1): _size,
    ("startsWith", 2): _text_test(lambda z3, text, part: z3.PrefixOf(part, text)),
    ("endsWith", 2): _text_test(lambda z3, text, part: z3.SuffixOf(part, text)),
    ("contains", 2): _text_test(lambda z3, text, part: z3.Contains(text, part)),
    ("matches", 2): _matches,
    ("double", 1): _double,
    ("int", 1): _int,
    ("string", 1): _string,
    ("dyn", 1): _dyn,
    ("timestamp", 1): _timestamp,
    ("duration", 1): _duration,
    ("hasValue", 1): _has_value,
    ("value", 1): _value,
    ("or", 2): _or,
    ("optional.of", 1): _some,
}

_OPERATORS: Final[Mapping[str, Callable[[Encoder, Call, list[Sym]], Sym]]] = {
    "_==_": lambda e, n, o: e.operators(n).equal(*o),
    "_!=_": lambda e, n, o: e.operators(n).unequal(*o),
    **{
        name: lambda e, n, o: e.operators(n).order(n.function, *o)
        for name in ("_<_", "_<=_", "_>_", "_>=_")
    },
    **{
        name: lambda e, n, o: e.operators(n).arithmetic(n.function, *o)
        for name in ("_+_", "_-_", "_*_", "_/_", "_%_")
    },
    "-_": lambda e, n, o: e.operators(n).negative(*o),
    "@in": lambda e, n, o: e.operators(n).member(*o),
    "_[_]": lambda e, n, o: e.operators(n).element(*o),
    "optional.none": _none,
}
