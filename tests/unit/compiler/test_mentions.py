from __future__ import annotations

import pytest

from dagflow.compiler.names.mentions import mentions

ROOTS = frozenset({"steps", "inputs"})


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("steps.a.output + inputs.n", [("steps", "a"), ("inputs", "n")]),
        ("steps.?a.output.?b", [("steps", "a")]),
        ("steps.`my-step`.output", [("steps", "my-step")]),
        ('steps["my-step"].output', [("steps", "my-step")]),
        ("steps[? 'a'].output", [("steps", "a")]),
        ('"steps.a" + "it\\"s steps.b" + r\'steps.c\'', []),
        ("1 // steps.a", []),
        ("x.steps.a + x.?steps.b", []),
        ("steps.map(x, x)", [("steps", None)]),
        ("size(steps)", [("steps", None)]),
        ("mysteps.a + steps2.b", []),
        ('"""steps.a""" + steps.b.status', [("steps", "b")]),
        ("inputs.f?steps.a.output:0", [("inputs", "f"), ("steps", "a")]),
        ("inputs.f?inputs.n:[?inputs.?m]", [("inputs", "f"), ("inputs", "n"), ("inputs", "m")]),
        ("x. ?steps.a + x . steps.b", []),
        ("steps. ?a + steps[\n'b'] + steps . `c d`", [("steps", n) for n in ("a", "b", "c d")]),
        ("steps[inputs.k] + steps[r'a']", [("steps", None), ("inputs", "k"), ("steps", None)]),
        ("steps.a[steps.b] // steps.c\n+ steps", [("steps", "a"), ("steps", "b"), ("steps", None)]),
    ],
)
def test_names_are_found_and_texts_passed_over(
    text: str, names: list[tuple[str, str | None]]
) -> None:
    found = list(mentions(text, ROOTS))

    assert [(m.root, m.name) for m in found] == names
    for mention in found:
        shown = text[mention.offset : mention.offset + mention.length]
        assert shown == (mention.name or mention.root)
