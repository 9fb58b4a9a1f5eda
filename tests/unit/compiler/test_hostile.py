"""Files made to hurt: each is answered within five seconds and 500 MB, with a finding."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from collections.abc import Callable, Mapping
from typing import Final

import pytest

SECONDS: Final = 5
BYTES: Final = 500 * 1024 * 1024

RUN = """
import json, sys, time
from dagflow.compiler import compile_workflow
from dagflow.core.source import Source
from dagflow.core.tool import ToolCatalog
text = sys.stdin.read()
begun = time.process_time()
report = compile_workflow(Source("w.yaml", text), ToolCatalog()).report
took = time.process_time() - begun
status = open("/proc/self/status").read()  # getrusage tells of the parent, too
peak = int(status.partition("VmHWM:")[2].split()[0]) * 1024
print(json.dumps([[f.name for f in report.findings][:50], took, peak]))
"""


def flow(steps: str, inputs: str = "{n: integer, s: string}") -> str:
    body = textwrap.indent(textwrap.dedent(steps), "  ")
    return f"dagflow: 1\nname: w\ninputs: {inputs}\nsteps:\n{body}\n"


def guarded(guard: str, inputs: str = "{n: integer, s: string}") -> str:
    return flow(f"a:\n  when: {json.dumps(guard)}\n  transform: inputs.n\n", inputs)


def bomb() -> str:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 9)]
    return "dagflow: 1\nname: w\n" + "\n".join(lines)


def switch(count: int) -> str:
    branches = "\n".join(f"    - {{when: inputs.n == {i}, then: end}}" for i in range(count))
    return flow(f"route:\n  switch:\n{branches}\n")


def mesh(count: int) -> str:
    """Return steps of which each reads all before it."""
    lines = []
    for i in range(count):
        reads = " + ".join([f"steps.?s{j}.output.orValue(0)" for j in range(max(0, i - 30), i)])
        lines.append(f"s{i}: {{transform: '{reads or 1}'}}")
    return flow("\n".join(lines))


def deep_schema(depth: int) -> str:
    inner = "{type: integer}"
    for _ in range(depth):
        inner = f"{{type: object, properties: {{a: {inner}}}, required: [a]}}"
    return guarded("inputs.d" + ".a" * 20 + " == 1", f"{{d: {inner}, n: integer}}")


def text_chain(count: int) -> str:
    """Return text from outside that goes through so many steps, each of which runs it, too."""
    lines = ["s0: {wait: {signal: it, expires: 1h}, output: {t: string}}"]
    lines += ["s1: {transform: steps.s0.output.t}"]
    lines += [f"s{i}: {{transform: steps.s{i - 1}.output + 'x'}}" for i in range(2, count)]
    lines += [f"r{i}: {{shell: ['${{{{ steps.s{i}.output }}}}']}}" for i in range(1, count, 4)]
    return flow("\n".join(lines), "{}")


def approved(count: int) -> str:
    """Return as many programs from outside as approvals, each after all approvals."""
    asked = ", ".join(f"a{i}" for i in range(count))
    lines = ["s: {wait: {signal: it, expires: 1h}, output: {t: string}}"]
    lines += [f"a{i}: {{approve: {{message: 'Go on?', expires: 1h}}}}" for i in range(count)]
    lines += [f"all: {{after: [{asked}], transform: '1'}}"]
    lines += [f"r{i}: {{after: all, shell: ['${{{{ steps.s.output.t }}}}']}}" for i in range(count)]
    return flow("\n".join(lines), "{}")


def equals(count: int) -> str:
    """Return steps that are all equal, in chains of two."""
    lines = [f"a{i}: {{transform: inputs.n + 1}}" for i in range(count)]
    lines += [f"b{i}: {{transform: steps.a{i}.output + 1}}" for i in range(count)]
    return flow("\n".join(lines))


def loops(depth: int) -> str:
    """Return loops inside of each other, each of a million turns."""
    inner = "{x: {transform: inputs.n}}"
    for level in range(depth):
        repeat = f"{{max: 1000000, until: 'false', steps: {inner}}}"
        inner = f"{{l{level}: {{repeat: {repeat}}}}}"
    return f"dagflow: 1\nname: w\ninputs: {{n: integer}}\nsteps: {inner}\n"


LISTS = "{n: integer, l: {type: array, maxItems: 2000, items: {type: integer}}}"

CASES: Final[Mapping[str, Callable[[], str]]] = {
    "deep nesting": lambda: "dagflow: 1\nname: w\nsteps: " + "[" * 5000,
    "deep mapping": lambda: "a:\n" + "".join(" " * i + f"k{i}:\n" for i in range(1, 2000)),
    "alias bomb": bomb,
    "nested comprehensions": lambda: guarded("inputs.l.exists(a, " * 30 + "true" + ")" * 30, LISTS),
    "wide comprehensions": lambda: guarded(
        " && ".join(["inputs.l.all(a, inputs.l.exists(b, a * b > 7))"] * 80),
        LISTS,
    ),
    "growing list": lambda: guarded("[inputs.s]" + ".map(a, a + a)" * 60 + ".size() == 3"),
    "catastrophic pattern": lambda: guarded(f"inputs.s.matches('{'(a*)*' * 60}b')"),
    "nested counts": lambda: guarded("inputs.s.matches('^(((a{1,50}){1,50}){1,50}){1,50}$')"),
    "backtracking pattern": lambda: guarded("inputs.s.matches('(a+)+$') && inputs.s == 'x'"),
    "switch of 6,000 branches": lambda: switch(6_000),
    "switch of 20,000 branches": lambda: switch(20_000),
    "product of unknowns": lambda: guarded(
        "inputs.n * inputs.n * inputs.n + 7 * inputs.n == 123456789123457 && inputs.n % 97 == 5"
    ),
    "sums of cubes": lambda: guarded(
        " + ".join(f"inputs.{x} * inputs.{x} * inputs.{x}" for x in "abn") + " == 42",
        "{a: integer, b: integer, n: integer}",
    ),
    "many hard guards": lambda: flow(
        "\n".join(
            f"s{i}: {{when: 'inputs.n * inputs.m % {i + 7} == {i} && inputs.s.contains(\"{i}\")', "
            f"transform: inputs.n}}"
            for i in range(150)
        ),
        "{n: integer, m: integer, s: string}",
    ),
    "string puzzle": lambda: guarded(
        "(inputs.s + inputs.t).matches('^(ab|ba)+$') && (inputs.t + inputs.s).matches('^(aab)+$')"
        " && inputs.s.size() > 40",
        "{s: string, t: string, n: integer}",
    ),
    "long or": lambda: guarded(" || ".join(f"inputs.n == {i}" for i in range(230))),
    "xor of booleans": lambda: guarded(
        " != ".join(f"(inputs.b{i})" for i in range(20)),
        "{n: integer, " + ", ".join(f"b{i}: boolean" for i in range(20)) + "}",
    ),
    "mesh": lambda: mesh(400),
    "text through thousands": lambda: text_chain(2_500),
    "approvals of everything": lambda: approved(700),
    "equal steps": lambda: equals(2_000),
    "loops of millions": lambda: loops(12),
    "deep schema": lambda: deep_schema(28),
    "huge enum": lambda: guarded(
        "inputs.e == 'v7' && inputs.e != 'v7'",
        "{n: integer, e: {enum: [" + ", ".join(f"v{i}" for i in range(15_000)) + "]}}",
    ),
}


def answer(text: str) -> tuple[list[str], float, int]:
    """Compile in a process of its own, and return the findings' names, seconds and bytes."""
    done = subprocess.run(
        [sys.executable, "-c", RUN],
        input=text, capture_output=True, text=True, timeout=60, check=False,
        env={**os.environ, "PYTHONHASHSEED": "0"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    names, took, peak = json.loads(done.stdout)
    return names, took, peak


@pytest.mark.parametrize("case", CASES)
def test_hostile_file_is_answered_in_time_and_space(case: str) -> None:
    names, took, peak = answer(CASES[case]())

    assert took < SECONDS
    assert peak < BYTES
    assert names
