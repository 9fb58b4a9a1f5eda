"""Inputs that kill the process of a naive evaluator, each tried in a process of its own."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest

PRELUDE = """
from dagflow.core.plan import Expression
from dagflow.expr import ast, check, syntax, Scope
from dagflow.expr.evaluate import ExpressionError, evaluate

def run(text, **values):
    try:
        stored = Expression(text, ast.to_json(syntax.parse(text)))
        print("value", repr(evaluate(stored, values))[:60])
    except ExpressionError as error:
        print("refused:", error.reason)
"""


def outcome(code: str) -> str:
    """Run code under the prelude in a fresh process with a memory limit; return what it printed."""
    limited = "import resource\nresource.setrlimit(resource.RLIMIT_AS, (3 * 2**30, 3 * 2**30))\n"
    done = subprocess.run(
        [sys.executable, "-c", limited + PRELUDE + textwrap.dedent(code)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, (done.returncode, done.stderr[-2000:])
    return done.stdout.strip()


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        (
            """
            deep = []
            for _ in range(20_000): deep = [deep]
            run("size(x)", x=deep)
            """,
            "nested deeper than 64 levels",
        ),
        (
            """
            ring = []
            ring.append(ring)
            run("x == x", x=ring)
            """,
            "nested deeper than 64 levels",
        ),
        ("run('size(x)', x='a' + chr(0))", "text with the character U+0000"),
        ("run('size(x)', x=chr(0xd800))", "text with a lone surrogate"),
        ("run('x > 1', x=float('nan'))", "not a finite number"),
        ("run('x > 1', x=2**63)", "an integer outside the 64-bit range"),
        ("run('size(x)', x={1: 2})", "the key 1 is not a clean string"),
        ("run('size(x)', x=(1, 2))", "a tuple is not a JSON value"),
        (
            "run('x' + '.map(a, a + a)' * 18, x=['s' * 1000])",
            "elements and bytes made, at most 10,000,000 are allowed",
        ),
        (
            "run('x.map(a, a)', x=list(range(2001)))",
            "copies of elements by map and filter, at most 4,000,000 are allowed",
        ),
        (
            "run('x.map(a, y.map(b, b))', x=[1, 2, 3], y=list(range(2000)))",
            "copies of elements by map and filter, at most 4,000,000 are allowed",
        ),
        (
            "run('x.filter(a, x.exists(b, b == a)).size()', x=list(range(101)))",
            "loop turns, at most 10,000 are allowed",
        ),
        (
            "run('x.replace(\"\", y)', x='a' * 10_000, y='b' * 10_000)",
            "elements and bytes made, at most 10,000,000 are allowed",
        ),
        (
            "run('[x, x, x].join(y)', x='a' * 2_000_000, y='b' * 3_000_000)",
            "elements and bytes made, at most 10,000,000 are allowed",
        ),
        (
            "run('x' + ' + x' * 20, x='a' * 1_000_000)",
            "elements and bytes made, at most 10,000,000 are allowed",
        ),
        (
            "run('json(x.map(a, x))', x=['a' * 3000] * 200)",
            "elements and bytes made, at most 10,000,000 are allowed",
        ),
    ],
)
def test_it_is_refused_before_anything_is_evaluated(code: str, reason: str) -> None:
    found = outcome(code)

    assert found.startswith("refused:")
    assert reason in found


@pytest.mark.parametrize(
    "code",
    [
        "run('x.map(a, a)', x=list(range(2000)))",
        "run('x.filter(a, a > 5)', x=list(range(2000)))",
        "run('x.exists(a, a == 9998)', x=list(range(9999)))",
        """run('x.map(a, a.tags.filter(t, t == "t1"))',
            x=[{'tags': ['t1', 't2'], 'text': 'w' * 5000}] * 200)""",
        "run('x.map(a, a.text.size())', x=[{'text': 'w' * 40_000}] * 200)",
        "run('x.map(a, {\"n\": a.n, \"m\": a.text})', x=[{'n': 1, 'text': 'w' * 1000}] * 1000)",
        "run('[x, x].join(\"-\").size()', x='a' * 1_000_000)",
        "deep = []\nfor _ in range(60): deep = [deep]\nrun('size(x)', x=deep)",
    ],
)
def test_ordinary_work_is_not_refused(code: str) -> None:
    assert outcome(code).startswith("value")


@pytest.mark.parametrize(
    "text",
    [
        "'(' * 4000 + ')' * 4000",
        "'[' * 4090",
        "'-' * 4090 + '1'",
        "'!' * 4090 + 'x'",
        "'a' + '.b' * 2000",
        "'a' + '[0]' * 1300",
        "'a ? 1 : ' * 500 + '2'",
        "' && '.join(['x'] * 800)",
        "'x' + '.map(a, a)' * 400",
        "'{\"a\":' * 600 + '1' + '}' * 600",
        "'x.map(a, ' * 400 + '1' + ')' * 400",
        "'\\\\' * 4095",
        "'${{' * 1000",
    ],
)
def test_no_text_kills_the_check(text: str) -> None:
    assert outcome(f"print(type(check({text}, Scope({{'x': True}}))).__name__)") in {
        "tuple",
        "Checked",
    }


def test_a_stored_ast_that_is_far_too_deep_is_refused() -> None:
    code = """
    node = {"int": 1}
    for _ in range(20_000): node = {"call": "-_", "args": [node], "at": [0, 1]}
    try:
        evaluate(Expression("-1", node), {})
    except Exception as error:
        print(type(error).__name__)
    """

    assert outcome(code) == "BugError"
