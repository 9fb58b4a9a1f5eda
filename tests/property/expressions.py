"""Random expressions of CEL over schemas with a bit of everything, for the solver's tests."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Final

from dagflow.core.values import JsonObject, JsonValue

FIELDS: Final[JsonObject] = {
    "n": {"type": "integer"},
    "m": {"type": "integer", "minimum": -5, "maximum": 40},
    "x": {"type": "number"},
    "y": {"type": "number", "minimum": 0, "exclusiveMaximum": 2.5},
    "s": {"type": "string"},
    "t": {"type": "string", "minLength": 1, "maxLength": 4},
    "p": {"type": "string", "pattern": "^[a-c]+[0-9]?$"},
    "b": {"type": "boolean"},
    "e": {"enum": ["red", "green", "blue"]},
    "k": {"enum": [1, 2, 5]},
    "u": {"type": ["string", "null"]},
    "v": {"type": ["integer", "null"]},
    "any": True,
    "l": {"type": "array", "items": {"type": "integer", "minimum": -9}, "maxItems": 3},
    "w": {"type": "array", "items": {"enum": ["a", "b"]}, "minItems": 1, "maxItems": 2},
    "long": {"type": "array", "items": {"type": "string"}},
    "o": {
        "type": "object",
        "properties": {"i": {"type": "integer"}, "q": {"type": "string"}},
        "required": ["i"],
        "additionalProperties": False,
    },
}
OPTIONAL: Final = frozenset({"v", "k", "o"})

INPUTS: Final[JsonObject] = {
    "type": "object",
    "properties": FIELDS,
    "required": [name for name in FIELDS if name not in OPTIONAL],
    "additionalProperties": False,
}

Make = Callable[["Maker", int], str]


class Maker:
    """Writes expressions of a kind, deterministic in its seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self._names: list[tuple[str, str]] = []

    def boolean(self, depth: int) -> str:
        """Return the text of a boolean expression."""
        if depth <= 0:
            return self.pick("inputs.b", "true", f"{self.leaf('int')} > {self.number()}")
        return self.random.choice(BOOLEANS)(self, depth - 1)

    def of(self, kind: str, depth: int) -> str:
        """Return the text of an expression of a kind: int, double, string or list."""
        table = {"int": INTS, "double": DOUBLES, "string": STRINGS, "list": LISTS}[kind]
        return self.leaf(kind) if depth <= 0 else self.random.choice(table)(self, depth - 1)

    def leaf(self, kind: str) -> str:
        """Return a read or a literal."""
        bound = [name for name, of in self._names if of == kind]
        if bound and self.random.random() < 0.6:
            return self.random.choice(bound)
        return self.pick(*LEAVES[kind])

    def number(self) -> str:
        return self.pick("0", "1", "2", "3", "-1", "7", "40", "9223372036854775807")

    def text(self) -> str:
        return self.pick("''", "'a'", "'ab'", "'b1'", "'red'", "'é'", "'aab'", "'7'")

    def pick(self, *choices: str) -> str:
        return self.random.choice(choices)

    def loop(self, macro: str, depth: int) -> str:
        """Return a macro over a list; its name stands for an element inside."""
        name = f"z{len(self._names)}"
        over, kind = self.random.choice((("inputs.l", "int"), ("inputs.w", "string")))
        self._names.append((name, kind))
        body = self.boolean(min(depth, 1))
        self._names.pop()
        return f"{over}.{macro}({name}, {body})"


LEAVES: Final = {
    "int": ("inputs.n", "inputs.m", "inputs.o.i", "3", "-2", "inputs.l[0]", "inputs.?k.orValue(4)"),
    "double": ("inputs.x", "inputs.y", "0.5", "2.0"),
    "string": ("inputs.s", "inputs.t", "inputs.p", "inputs.e", "'a'", "inputs.?o.q.orValue('z')"),
    "list": ("inputs.l", "[1, 2]", "[inputs.n, 3]"),
}

BOOLEANS: Final[tuple[Make, ...]] = (
    lambda m, d: f"({m.boolean(d)} && {m.boolean(d)})",
    lambda m, d: f"({m.boolean(d)} || {m.boolean(d)})",
    lambda m, d: f"!({m.boolean(d)})",
    lambda m, d: f"({m.boolean(d)} ? {m.boolean(d)} : {m.boolean(d)})",
    lambda m, d: f"{m.of('int', d)} {m.pick('<', '<=', '>', '>=', '==', '!=')} {m.of('int', d)}",
    lambda m, d: f"{m.of('double', d)} {m.pick('<', '>=', '==')} {m.of('double', d)}",
    lambda m, d: f"{m.of('double', 0)} {m.pick('<', '>', '==')} {m.of('int', d)}",
    lambda m, d: f"{m.of('string', d)} {m.pick('==', '!=', '<', '>=')} {m.of('string', d)}",
    lambda m, d: f"{m.of('string', d)}.{m.pick('startsWith', 'endsWith', 'contains')}({m.text()})",
    lambda m, d: f"{m.of('string', 0)}.matches('{m.pick(*PATTERNS)}')",
    lambda m, d: f"{m.of('int', d)} in {m.of('list', d)}",
    lambda m, _: f"inputs.e in ['red', {m.text()}]",
    lambda m, _: f"inputs.u == {m.pick('null', m.text())}",
    lambda m, _: f"(inputs.u != null && inputs.u == {m.text()})",
    lambda m, _: f"has(inputs.{m.pick('v', 'k', 'o')})",
    lambda m, _: f"inputs.any == {m.pick(m.number(), m.text(), 'null', 'true', '2.5')}",
    lambda m, d: m.loop(m.pick("exists", "all"), d),
    lambda m, _: f"inputs.long.size() {m.pick('<', '>')} {m.pick('1', '4', '9')}",
    lambda m, _: (
        f"timestamp('2026-01-0{m.pick('1', '2')}T00:00:00Z') < "
        f"timestamp('2026-01-01T12:00:00Z') + duration('{m.pick('1h', '36h', '90s')}')"
    ),
)
PATTERNS: Final[tuple[str, ...]] = (
    "^a+b$",
    "[0-9]",
    "^(red|green)$",
    "a{2,3}",
    "^[^a]*$",
    "b.?1",
    "^\\\\d+$",
)

INTS: Final[tuple[Make, ...]] = (
    lambda m, d: f"({m.of('int', d)} {m.pick('+', '-', '*', '/', '%')} {m.of('int', d)})",
    lambda m, d: f"(-{m.of('int', 0)})",
    lambda m, d: f"{m.of('string', d)}.size()",
    lambda m, d: f"size({m.of('list', d)})",
    lambda m, d: f"({m.boolean(d)} ? {m.of('int', d)} : {m.of('int', d)})",
    lambda m, d: f"{m.loop('filter', d)}.size()",
    lambda m, d: f"{m.of('list', 0)}[{m.pick('0', '1', 'inputs.m')}]",
    lambda m, _: m.leaf("int"),
)
DOUBLES: Final[tuple[Make, ...]] = (
    lambda m, d: f"double({m.of('int', d)})",
    lambda m, d: f"({m.boolean(d)} ? {m.of('double', 0)} : {m.of('double', 0)})",
    lambda m, _: m.leaf("double"),
)
STRINGS: Final[tuple[Make, ...]] = (
    lambda m, d: f"({m.of('string', d)} + {m.text()})",
    lambda m, d: f"({m.boolean(d)} ? {m.of('string', d)} : {m.text()})",
    lambda m, _: f"inputs.w[{m.pick('0', '1')}]",
    lambda m, _: m.leaf("string"),
)
LISTS: Final[tuple[Make, ...]] = (
    lambda m, d: f"inputs.l.map(z, z + {m.number()})",
    lambda m, d: f"[{m.of('int', d)}, {m.of('int', 0)}]",
    lambda m, _: m.leaf("list"),
)


def value(chosen: random.Random) -> JsonValue:
    """Return random inputs that the schema admits."""
    numbers = [0, 1, 2, 3, -1, 5, 7, 40, 2**63 - 1, -(2**63)]
    texts = ["", "a", "ab", "b1", "red", "é", "aab", "aaab", "7"]
    some: JsonObject = {
        "n": chosen.choice(numbers),
        "m": chosen.randint(-5, 40),
        "x": chosen.choice([0.0, 0.5, 2.0, -1.5, 3.0, 1e300]),
        "y": chosen.choice([0.0, 0.5, 2.0]),
        "s": chosen.choice(texts),
        "t": chosen.choice(["a", "ab", "b1", "é", "red"]),
        "p": chosen.choice(["a", "ab", "b1", "aab", "c7"]),
        "b": chosen.random() < 0.5,
        "e": chosen.choice(["red", "green", "blue"]),
        "u": chosen.choice([None, *texts]),
        "any": chosen.choice([None, True, 1, 2.5, "a", [], {}]),
        "l": [chosen.randint(-9, 9) for _ in range(chosen.randint(0, 3))],
        "w": [chosen.choice("ab") for _ in range(chosen.randint(1, 2))],
        "long": ["a"] * chosen.choice([0, 2, 6, 12]),
    }
    if chosen.random() < 0.6:
        some["k"] = chosen.choice([1, 2, 5])
    if chosen.random() < 0.6:
        some["o"] = {"i": chosen.choice(numbers), **({"q": "a"} if chosen.random() < 0.5 else {})}
    if chosen.random() < 0.6:
        some["v"] = chosen.choice([None, 1])
    return some
