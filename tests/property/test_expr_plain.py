"""What is read without the CEL library is what the library reads, down to the places."""

from __future__ import annotations

import random
import struct

import pytest

from dagflow.expr import plain, syntax
from dagflow.expr.ast import Const, Node, children
from dagflow.expr.lexer import tokens
from dagflow.expr.problem import Refused

ATOMS = [
    *("a", "b", "steps.x.output.y", "inputs.q", "true", "false", "null", "0", "7", "-1", "1.5"),
    *("-2.0", "'t'", '"u v"', "''", "[]", "[1, a]", "size(a)", "max()", "a.b", "item[0]", "_x"),
]
FORMS = [
    *("{} && {}", "{} || {}", "{} == {}", "{} != {}", "{} < {}", "{} >= {}", "{} in {}"),
    *("{} + {}", "{} - {}", "{} * {}", "{} / {}", "{} % {}", "{} ? {} : {}", "!{}", "-{}", "- {}"),
    *("({})", "{}.f", "{}.?f", "{}[{}]", "{}[?{}]", "{}.m()", "{}.m({})", "{}.m({}, {})"),
    *("f({})", "f({}, {})", "[{}, {}]", "[[{}], {}]", "{}.?f.orValue({})", "{} && {} && {} && {}"),
    *("{} || {} || {} || {} || {}", "{}  <=  ({})", "{}\n&& {}", "{} // c\n+ {}"),
]
ODD = [
    *("math.abs({})", "has({}.f)", "{}.exists(x, {})", "{{'k': {}}}", "[?{}]", "{}.in", "for"),
    *("!!{}", "--{}", "f({},)", "[{},]", "()", "r'x'", "'\\n'", "b'x'", "1u", "1e3", ".5", "0x1f"),
    *("99999999999999999999", "{}.map(x, {})", "a.`b`", ".a", "{}.?f({})", "optional.of({})"),
    *("T{{}}", "1.f", "1 .f", "a.1", "'a' 'b'", "{} {}", "é", "'é'", "'é' + {}", "a.has", "size"),
    *("-a.b", "- 1", "1 -1", "a -1.f"),
]  # fmt: skip
LETTERS = " .?[](){}'\"!-+&|=<>:,\\`\n\r\t\f\0/10aéin١²\u00a0"


@pytest.mark.parametrize("seed", range(12))
def test_what_is_read_plainly_is_what_the_library_reads(seed: int) -> None:
    rng = random.Random(seed)
    read = sum(_agrees(_text(rng)) for _ in range(400))
    assert read > 100


def test_most_expressions_are_read_plainly() -> None:
    rng = random.Random(0)
    texts = [text for _ in range(200) if len(tokens(text := _grown(rng, 3, FORMS))) <= 48]
    read = [text for text in texts if plain.parse(text)]
    assert len(read) > 0.8 * len(texts)


def _agrees(text: str) -> bool:
    """Tell whether the text was read plainly; fails where the library reads it another way."""
    node = plain.parse(text)
    if node is None:
        return False
    try:
        expected = syntax.by_library(text)
    except Refused as refused:
        raise AssertionError(f"the library refuses {text!r}: {refused.problem.message}") from None
    assert _bits(node) == _bits(expected), text
    assert node == expected, text
    return True


def _bits(node: Node) -> list[object]:
    """Return the doubles of a node as their bits: -0.0 is not 0.0."""
    own = [node.value] if isinstance(node, Const) else []
    return [struct.pack("d", v) if isinstance(v, float) else v for v in own] + [
        bits for child in children(node) for bits in _bits(child)
    ]


def _text(rng: random.Random) -> str:
    text = _grown(rng, rng.randrange(4), FORMS if rng.random() < 0.7 else [*FORMS, *ODD])
    for _ in range(rng.choice([0, 0, 0, 1, 2])):
        at = rng.randrange(len(text) + 1)
        text = text[:at] + rng.choice([*LETTERS, ""]) + text[at + rng.randrange(2) :]
    return text


def _grown(rng: random.Random, depth: int, forms: list[str]) -> str:
    if not depth:
        return rng.choice(ATOMS)
    form = rng.choice(forms)
    holes = form.replace("{{", "").count("{}")
    return form.format(*(_grown(rng, rng.randrange(depth), forms) for _ in range(holes)))
