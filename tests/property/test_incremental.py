"""A compilation with a memory gives what one without gives, whatever was edited in between."""

from __future__ import annotations

import json
import os
import random
import re
import textwrap
from collections.abc import Callable, Iterator

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from benchmarks.check import workflow_of
from dagflow.compiler import compile_workflow, rules
from dagflow.compiler.compile import Compiled
from dagflow.compiler.memory import Memory
from dagflow.compiler.report import json_report
from dagflow.core.plan_json import to_json
from dagflow.core.source import Source
from dagflow.core.values import canonical
from tests.property.flows import flows, to_yaml
from tests.rules.compiling import tools

FULL = os.environ.get("DAGFLOW_FULL") == "1"
BLOCK = re.compile(r"^ *(?:Bad|Good):\n\n(.*?)(?=^ *(?:Bad|Good):|\Z)", re.MULTILINE | re.DOTALL)
PAGES = [
    textwrap.dedent(body)
    for rule in rules.ALL
    for body in BLOCK.findall(textwrap.dedent("    " + rule.doc))
    if "# file:" not in body
]
WORD = re.compile(r"[a-z_]{3,}")
NUMBER = re.compile(r"\d+")

Lines = list[str]


def blank(lines: Lines, at: int, _: random.Random) -> Lines:
    return [*lines[:at], "", *lines[at:]]


def comment(lines: Lines, at: int, _: random.Random) -> Lines:
    return [*lines[:at], "# a comment of no import", *lines[at:]]


def without(lines: Lines, at: int, _: random.Random) -> Lines:
    return [*lines[:at], *lines[at + 1 :]]


def doubled(lines: Lines, at: int, _: random.Random) -> Lines:
    return [*lines[: at + 1], *lines[at:]]


def swapped(lines: Lines, at: int, _: random.Random) -> Lines:
    return [*lines[:at], *reversed(lines[at : at + 2]), *lines[at + 2 :]]


def renumbered(lines: Lines, at: int, chance: random.Random) -> Lines:
    line = NUMBER.sub(lambda _: str(chance.randrange(12)), lines[at])
    return [*lines[:at], line, *lines[at + 1 :]]


def renamed(lines: Lines, at: int, chance: random.Random) -> Lines:
    words = sorted(set(WORD.findall("\n".join(lines))))
    line = WORD.sub(lambda m: chance.choice(words) if chance.random() < 0.3 else m[0], lines[at])
    return [*lines[:at], line, *lines[at + 1 :]]


def guarded(lines: Lines, at: int, chance: random.Random) -> Lines:
    indent = " " * (len(lines[at]) - len(lines[at].lstrip()))
    guard = chance.choice(["inputs.n > 3", "1 > 2", "steps.a.output == 1", "true", "inputs.n / 0"])
    return [*lines[:at], f"{indent}when: {guard}", *lines[at:]]


def added(lines: Lines, at: int, _: random.Random) -> Lines:
    del at
    return [line for each in lines for line in (each, *ADDED * (each == "steps:"))]


ADDED = ["  one_more:", "    transform: 1 + 1"]


def broken(lines: Lines, at: int, _: random.Random) -> Lines:
    return [*lines[:at], "{ [ :", *lines[at:]]


EDITS: list[Callable[[Lines, int, random.Random], Lines]] = [
    blank, comment, without, doubled, swapped, renumbered, renamed, guarded, added, broken,
]  # fmt: skip


def edited(text: str, chance: random.Random, count: int) -> Iterator[str]:
    """Yield the text, and after each edit the text then; what breaks it is taken back next."""
    lines, yielded = text.splitlines(), 0
    while True:
        yield "\n".join(lines) + "\n"
        yielded += 1
        if yielded > count:
            return
        edit = chance.choice(EDITS)
        changed = edit(lines, chance.randrange(len(lines)), chance)
        if edit is broken:
            yield "\n".join(changed) + "\n"
        else:
            lines = changed or [""]


def compiled(text: str, memory: Memory | None) -> Compiled:
    return compile_workflow(Source("w.yaml", text), tools(), memory=memory)


def told(found: Compiled) -> tuple[str, bytes]:
    plan = b"" if found.plan is None else canonical(to_json(found.plan))
    return json.dumps(json_report.to_json(found.report), indent=1), plan


texts = st.one_of(
    st.sampled_from(PAGES),
    flows().map(to_yaml),
    st.integers(3, 24).map(workflow_of),
)


@settings(
    max_examples=1500 if FULL else 15,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
@given(texts, st.integers(0, 2**32), st.integers(1, 6))
def test_what_is_remembered_changes_nothing(text: str, seed: int, count: int) -> None:
    memory = Memory()

    for each in edited(text, random.Random(seed), count):
        remembering, fresh = compiled(each, memory), compiled(each, None)

        assert told(remembering) == told(fresh)
        assert remembering.report == fresh.report
