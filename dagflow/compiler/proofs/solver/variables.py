"""The values that expressions read, as unknowns of the solver that keep to their schemas."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Final, TypeAlias

from dagflow.compiler.proofs.solver.regex import TOP, to_z3
from dagflow.compiler.proofs.solver.shapes import (
    Bool,
    Double,
    Duration,
    Fields,
    Formula,
    Instant,
    Int,
    Items,
    Logic,
    Null,
    Shape,
    Strange,
    Sym,
    Term,
    Text,
    listed,
)
from dagflow.core.records import dataclass
from dagflow.core.values import INT64_MAX, INT64_MIN, JsonObject, JsonValue
from dagflow.expr.fields import element, known_names, most_items
from dagflow.expr.fields import field as field_of
from dagflow.expr.types import DYN, Type, of_kind, values_of

Root: TypeAlias = Callable[[str], Type | None]
"""The type of a root variable; None where it isn't known."""

ITEMS: Final = 6
"""How many elements of a list are looked at one by one."""

FEW: Final = 16
"""Enums of no more texts than this are an alternative for each."""

PLAIN: Final = 1_000
"""Numbers up to this read well in a witness."""

_ANY: Final = ("null", "bool", "int", "number", "string", "list", "map")
_FOREIGN: Final = ("timestamp", "duration")

INSTANT: Final = (
    "^[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9]{2}:[0-9]{2}:[0-9]{2}"
    "([.][0-9]+)?([Zz]|[+-][0-9]{2}:[0-9]{2})$"
)
"""All RFC 3339 instants are like this."""


@dataclass(slots=True)
class Known:
    """An unknown as it was made: its alternatives by kind, to read its value from a model."""

    type: Type
    sym: Sym
    fields: dict[str, tuple[Formula, Known]] = field(default_factory=dict)
    items: dict[int, Known] = field(default_factory=dict)


@dataclass(slots=True)
class Variables:
    """All unknowns of one question. `facts` is what their schemas say of them.

    `plain` is what is asked of numbers and `readable` of texts besides, where that can be had.
    `unknowns` counts those that stand for what an operator leaves open.
    """

    logic: Logic
    facts: list[Formula] = field(default_factory=list)
    plain: list[Formula] = field(default_factory=list)
    readable: list[Formula] = field(default_factory=list)
    roots: dict[str, Known] = field(default_factory=dict)
    unknowns: int = 0
    _opaque: dict[str, Sym] = field(default_factory=dict)
    _made: list[Known] = field(default_factory=list)

    def close(self) -> None:
        """Let go of all unknowns. They know each other, and only the collector would free them.

        Each question has megabytes of Z3's memory, of which the collector sees nothing.
        """
        for known in self._made:
            known.sym = Sym(())
            known.fields.clear()
            known.items.clear()

    @property
    def exact(self) -> bool:
        """Tell whether nothing was left unknown so far."""
        return not self.unknowns and not self._opaque

    def root(self, name: str, type_: Type) -> Known:
        """Return the unknown of that name, the same one each time."""
        if name not in self.roots:
            self.roots[name] = self.unknown(type_, name)
        return self.roots[name]

    def opaque(self, name: str, kinds: tuple[str, ...] = (), *, fails: bool = True) -> Sym:
        """Return a value of which only its kind is known, the same one for the same name."""
        if name not in self._opaque:
            type_ = of_kind(kinds[0]) if len(kinds) == 1 else DYN
            sym = self.unknown(type_, f"?{name}", foreign=True).sym
            if fails:
                sym = self.logic.under(self.flag(f"ok {name}"), sym)
            self._opaque[name] = sym
        return self._opaque[name]

    def flag(self, name: str) -> Formula:
        """Return an unknown truth."""
        return self.logic.z3.Bool(name, self.logic.context)

    def whole(self, name: str, least: int = INT64_MIN, most: int = INT64_MAX) -> Term:
        """Return an unknown integer between two bounds."""
        term = self.logic.z3.Int(name, self.logic.context)
        self.facts += [term >= least, term <= most]
        return term

    def unknown(self, type_: Type, name: str, *, foreign: bool = False) -> Known:
        """Make an unknown of a type; `foreign`: it need not be a JSON value."""
        known = Known(type_, Sym(()))
        self._made.append(known)
        listed = values_of(type_)
        if listed is not None:
            if "number" in type_.kinds:  # evaluated in doubles
                listed = [float(v) if type(v) is int else v for v in listed]
            known.sym = self._one_of(listed, name)
            return known
        kinds = _kinds(type_, foreign=foreign)
        if len(kinds) == 1:
            known.sym = self.logic.certain(self._shape(kinds[0], known, name, self.logic.true()))
            return known
        tag = self.whole(f"{name}#", 0, len(kinds) - 1)
        ways = ((tag == index, kind) for index, kind in enumerate(kinds))
        known.sym = Sym(tuple((when, self._shape(kind, known, name, when)) for when, kind in ways))
        return known

    def _one_of(self, values: list[JsonValue], name: str) -> Sym:
        """Return an unknown that is one of the values."""
        if len(values) == 1:
            return self.logic.certain(constant(self.logic, values[0]))
        tag = self.whole(f"{name}#", 0, len(values) - 1)
        texts = [(i, value) for i, value in enumerate(values) if isinstance(value, str)]
        if len(texts) <= FEW:  # constants are compared without the theory of strings
            texts = []
        ways = [
            (tag == index, constant(self.logic, value))
            for index, value in enumerate(values)
            if not texts or not isinstance(value, str)
        ]
        if texts:
            # one unknown for all of them, so that an enum of texts is one alternative
            term = self.logic.z3.String(name, self.logic.context)
            is_text = self.logic.any(*(tag == index for index, _ in texts))
            self.facts += [(tag == i) == (term == self.logic.text(text)) for i, text in texts]
            ways.append((is_text, Text(term)))
        return Sym(tuple(ways))

    def _shape(self, kind: str, known: Known, name: str, when: Formula) -> Shape:
        match kind:
            case "null":
                return Null()
            case "bool":
                return Bool(self.flag(f"{name}:b"))
            case "int":
                return self._int(known, name, when)
            case "number" | "double":
                return self._double(known, name, when)
            case "string":
                return self._text(known, name, when)
            case "list":
                return self._items(known, name, when)
            case "map":
                return self._fields(known, name)
            case "timestamp":
                return Instant(self.logic.z3.Int(f"{name}:t", self.logic.context))
            case "duration":
                return Duration(self.logic.z3.Int(f"{name}:l", self.logic.context))
        return Strange(name)

    def _int(self, known: Known, name: str, when: Formula) -> Shape:
        term = self.whole(f"{name}:i")
        self.plain += [term >= -PLAIN, term <= PLAIN]
        self._bounded(known.type, term, when)
        return Int(term)

    def _double(self, known: Known, name: str, when: Formula) -> Shape:
        term = self.logic.z3.Real(f"{name}:d", self.logic.context)
        self._bounded(known.type, term, when)
        self.plain += [term >= -PLAIN, term <= PLAIN]
        is_json = not name.startswith("?")
        return Double(term, self.logic.false() if is_json else self.flag(f"{name}:nan"))

    def _bounded(self, type_: Type, term: Term, when: Formula) -> None:
        schema = _plain(type_)
        for key, compare in _BOUNDS.items():
            bound = schema.get(key)
            if isinstance(bound, int | float) and not isinstance(bound, bool):
                limit = self.logic.real(float(bound)) if isinstance(bound, float) else bound
                self._fact(when, compare(term, limit))

    def _fact(self, when: Formula, fact: Formula) -> None:
        self.facts.append(self.logic.any(self.logic.no(when), fact))

    def _text(self, known: Known, name: str, when: Formula) -> Shape:
        z3, schema = self.logic.z3, _plain(known.type)
        term = z3.String(f"{name}:s", self.logic.context)
        # no text of ours holds U+0000 or a half of a surrogate pair
        self.facts.append(z3.InRe(term, z3.Star(_characters(self.logic))))
        letters = z3.Range(self.logic.text("a"), self.logic.text("z"))
        least, most = schema.get("minLength"), schema.get("maxLength")
        if isinstance(least, int):
            self._fact(when, z3.Length(term) >= least)
        if isinstance(most, int):
            self._fact(when, z3.Length(term) <= most)
        pattern = schema.get("pattern")
        language = to_z3(pattern, self.logic) if isinstance(pattern, str) else None
        if language is not None:
            self._fact(when, z3.InRe(term, language))
        is_instant = schema.get("format") == "date-time"
        if is_instant:
            self._fact(when, z3.InRe(term, to_z3(INSTANT, self.logic)))
            self.readable.append(term == self.logic.text("2026-01-01T00:00:00Z"))
        else:
            self.readable.append(z3.InRe(term, z3.Star(letters)))
        return Text(term, is_instant)

    def _items(self, known: Known, name: str, when: Formula) -> Shape:
        schema = known.type.schema if isinstance(known.type.schema, dict) else {}
        least, most = schema.get("minItems", 0), most_items(known.type)
        length = self.whole(f"{name}:n", 0)
        self.plain.append(length <= ITEMS)
        if isinstance(least, int):
            self._fact(when, length >= least)
        if most is not None:
            self._fact(when, length <= most)
        count = ITEMS if most is None else min(most, ITEMS)

        def get(index: int) -> Sym:
            if index not in known.items:
                inner = element(known.type, index)
                known.items[index] = self.unknown(inner, f"{name}[{index}]")
            return known.items[index].sym

        return Items(length, get, count, whole=most is not None and most <= ITEMS)

    def _fields(self, known: Known, name: str) -> Shape:
        def get(key: str) -> tuple[Formula, Sym]:
            if key not in known.fields:
                known.fields[key] = self._field(known.type, name, key)
            present, found = known.fields[key]
            return present, found.sym

        names = known_names(known.type) if _is_closed(known.type) else None
        return Fields(get, names)

    def _field(self, type_: Type, name: str, key: str) -> tuple[Formula, Known]:
        found = field_of(type_, key)
        if found.type is None:
            return self.logic.false(), Known(DYN, Sym(()))
        inner = self.unknown(found.type, f"{name}.{key}")
        if key in _ONLY and name.startswith("steps.") and name.count(".") == 1:
            return self._with_status(name, _ONLY[key]), inner
        present = self.logic.true() if found.required else self.flag(f"{name}.{key}?")
        return present, inner

    def _with_status(self, step: str, statuses: tuple[str, ...]) -> Formula:
        """Return when a step has one of the statuses, for what it has only then."""
        steps = self.roots["steps"].sym.ways[0][1]
        assert isinstance(steps, Fields)
        _, view = steps.get(step.partition(".")[2])
        shape = view.ways[0][1]
        assert isinstance(shape, Fields)
        status = shape.get("status")[1]
        return self.logic.any(*(
            when
            for when, text in status.ways
            if isinstance(text, Text) and text.term.as_string() in statuses
        ))  # fmt: skip


_ONLY: Final[Mapping[str, tuple[str, ...]]] = {
    "output": ("succeeded",),
    "reason": ("skipped",),
}
"""What the view of a step has only with some statuses."""

_BOUNDS: Final[Mapping[str, Callable[[Term, Term], Formula]]] = {
    "minimum": lambda term, bound: term >= bound,
    "maximum": lambda term, bound: term <= bound,
    "exclusiveMinimum": lambda term, bound: term > bound,
    "exclusiveMaximum": lambda term, bound: term < bound,
}


def _characters(logic: Logic) -> Term:
    text, between = logic.text, logic.z3.Range
    return logic.z3.Union(
        between(text("\x01"), text("\ud7ff")), between(text("\ue000"), text(chr(TOP)))
    )


def constant(logic: Logic, value: JsonValue) -> Shape:
    """Return the shape of one JSON value."""
    match value:
        case None:
            return Null()
        case bool():
            return Bool(logic.true() if value else logic.false())
        case int():
            return Int(logic.int(value))
        case float():
            return Double(logic.real(value), logic.false())
        case str():
            return Text(logic.text(value))
        case list():
            items = tuple(logic.certain(constant(logic, item)) for item in value)
            return listed(logic.int(len(items)), items, whole=True)
    return _constant_fields(logic, value)


def _constant_fields(logic: Logic, value: JsonObject) -> Shape:
    entries = {key: logic.certain(constant(logic, item)) for key, item in value.items()}

    def get(key: str) -> tuple[Formula, Sym]:
        found = entries.get(key)
        return (logic.false(), Sym(())) if found is None else (logic.true(), found)

    return Fields(get, tuple(entries))


def _kinds(type_: Type, *, foreign: bool) -> tuple[str, ...]:
    if type_.is_dyn:
        return (*_ANY, *_FOREIGN, "other") if foreign else _ANY
    kinds = set(type_.kinds)
    if "number" in kinds:
        kinds -= {"int", "double"}  # evaluated in doubles
    return tuple(sorted(kinds))


def _plain(type_: Type) -> JsonObject:
    """Return a schema whose bounds hold for the value as a whole."""
    return type_.schema if isinstance(type_.schema, dict) else {}


def _is_closed(type_: Type) -> bool:
    schema = type_.schema if isinstance(type_.schema, dict) else {}
    return schema.get("additionalProperties") is False and schema.get("type") == "object"
