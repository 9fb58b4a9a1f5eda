"""A model of the solver as JSON: what the unknowns are in it, made whole by their schemas."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Final

from dagflow.compiler.proofs.solver.operators import decoded
from dagflow.compiler.proofs.solver.shapes import (
    Bool,
    Double,
    Fields,
    Int,
    Items,
    Logic,
    Null,
    Shape,
    Text,
)
from dagflow.compiler.proofs.solver.variables import Known, Variables
from dagflow.core.records import dataclass
from dagflow.core.values import JsonObject, JsonValue, canonical
from dagflow.expr import validate
from dagflow.expr.fields import element, known_names
from dagflow.expr.fields import field as field_of
from dagflow.expr.sample import samples
from dagflow.expr.types import Type, closed, of_schema

LONGEST: Final = 64
"""Longer lists are not written out."""

_TRIED: Final = 200
_EFFORT: Final = 100_000


class UnreadableError(ValueError):
    """The model can't be written as JSON."""


@dataclass(frozen=True, slots=True)
class Reader:
    """Reads the unknowns of one question from a model of it."""

    model: Any
    logic: Logic

    def value(self, known: Known) -> JsonValue:
        """Return the value of an unknown; raises `UnreadableError` where there is none."""
        for when, shape in known.sym.ways:
            if self._holds(when):
                return self._written(shape, known)
        raise UnreadableError

    def _holds(self, formula: Any) -> bool:
        return bool(self.logic.z3.is_true(self._eval(formula)))

    def _eval(self, term: Any) -> Any:
        return self.model.eval(term, model_completion=True)

    def _written(self, shape: Shape, known: Known) -> JsonValue:
        match shape:
            case Null():
                return None
            case Bool(term=term):
                return self._holds(term)
            case Int(term=term):
                return int(self._eval(term).as_long())
            case Double(term=term):
                return self._double(term)
            case Text(term=term):
                return self._text(term, known.type)
            case Items():
                return self._list(shape, known)
            case Fields():
                return self._object(known)
        raise UnreadableError

    def _double(self, term: Any) -> float:
        found = self._eval(term)
        if not self.logic.z3.is_rational_value(found):
            raise UnreadableError
        return float(found.as_fraction())

    def _text(self, term: Any, type_: Type) -> str:
        found = decoded(self._eval(term).as_string())
        if any("\ud800" <= char <= "\udfff" or char == "\0" for char in found):
            raise UnreadableError
        if validate(closed(type_), found) is None or found:
            return found
        # nothing was asked of it but what its schema says and the solver was not told
        return next((v for v in admitted(type_) if isinstance(v, str)), found)

    def _list(self, shape: Items, known: Known) -> JsonValue:
        length = int(self._eval(shape.length).as_long())
        if length > LONGEST:
            raise UnreadableError
        return [
            self.value(known.items[index])
            if index in known.items
            else any_of(element(known.type, index))
            for index in range(length)
        ]

    def _object(self, known: Known) -> JsonObject:
        found: JsonObject = {
            name: self.value(inner)
            for name, (present, inner) in known.fields.items()
            if self._holds(present)
        }
        return whole(known.type, found)


def whole(type_: Type, found: JsonObject) -> JsonObject:
    """Fill in the fields that an object must have."""
    missing = {
        name: any_of(inner.type)
        for name in known_names(type_)
        if name not in found
        and (inner := field_of(type_, name)).required
        and inner.type is not None
    }
    return {**found, **missing}


def any_of(type_: Type) -> JsonValue:
    """Return some value of a type; raises `UnreadableError` where none is found."""
    for value in admitted(type_):
        return value
    found = _solved(canonical(closed(type_)))
    if found is None:
        raise UnreadableError
    return found[0]


def admitted(type_: Type) -> Iterator[JsonValue]:
    """Yield some values that a type's schema admits."""
    schema = closed(type_)
    for _, value in zip(range(_TRIED), samples(schema, True), strict=False):
        if validate(schema, value) is None:
            yield value


@lru_cache(maxsize=256)
def _solved(schema: bytes) -> tuple[JsonValue] | None:
    """Let the solver find a value, for it reads patterns."""
    import z3

    type_ = of_schema(json.loads(schema))
    logic = Logic(z3.Context(), z3)
    variables = Variables(logic)
    known = variables.unknown(type_, "value")
    solver = z3.Solver(ctx=logic.context)
    solver.set("rlimit", _EFFORT)
    solver.add(*variables.facts)
    try:
        if solver.check() != z3.sat:
            return None
        found = Reader(solver.model(), logic).value(known)
    finally:
        variables.close()
    return None if validate(type_.schema, found) is not None else (found,)
