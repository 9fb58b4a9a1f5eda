from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dagflow.compiler.source.parse import parse
from dagflow.compiler.source.text import decode
from dagflow.core.findings import Finding

from .reading import HEAD, source

BOMB = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{new}: &{new} [{','.join([f'*{old}'] * 9)}]\n"
    for old, new in zip("abcdefgh", "bcdefghi", strict=True)
)
MANY_ALIASES = "a: &a [" + "x," * 999 + "]\nb:\n" + "- *a\n" * 200

HOSTILE = {
    "alias bomb": (BOMB, "aliases stand for"),
    "alias cycle": ("&x {b: *x}", "inside the value"),
    "many aliases of a large value": (MANY_ALIASES, "aliases stand for"),
    "aliases that nest": (
        "a: &a0 [x]\n" + "".join(f"b{i}: &a{i + 1} [*a{i}]\n" for i in range(80)), "deeper",
    ),
    "deep lists": ("[" * 100_000, "deep"),
    "deep mappings": ("{a: " * 100_000, "deeper than 64"),
    "deep blocks": ("- " * 100_000, "deeper than 64"),
    "deep keys": ("? " * 100_000, "deeper than 64"),
    "deep indents": ("".join(" " * i + "a:\n" for i in range(500)), "deeper than 64"),
    "two megabytes": ("a: " + "x" * (2 << 20), "larger than 1 MiB"),
    "one megabyte of wide characters": ("a: " + "☃" * 400_000, "larger than 1 MiB"),
    "thirty thousand values": ("a: [" + "1," * 30_000 + "]", "20,000"),
    "thirty thousand keys": ("".join(f"k{i}: 1\n" for i in range(30_000)), "20,000"),
    "tag directives": ("%TAG !a! tag:x\n" * 60_000 + "---\na: 1", "%TAG"),
    "tag directives of a second document": (
        "a: 1\n...\n" + "%TAG !a! tag:x\n" * 60_000 + "---\na: 1", "second document",
    ),
    "unknown directives": ("%FOO\n" * 100_000 + "---\na: 1", "more than 8 directives"),
    "a version of many digits": (f"%YAML {'9' * 100_000}.1\n---\na: 1", "version"),
    "a number of a million digits": ("a: " + "9" * 1_000_000, "64-bit"),
    "an exponent of a million digits": ("a: 1e" + "9" * 1_000_000, "too large"),
    "quotes": ("a: " + "'" * 1_000_001, "quoted"),
    "colons": (":" * 1_000_000 + " ", ""),
    "a key of a million characters": ("x" * 1_000_000 + ": 1", "`:`"),
    "anchors without end": ("&a " * 100_000, ""),
    "a block header of digits": ("a: |" + "9" * 100_000, "comment"),
    "a surrogate": ('a: "\ud800"', "surrogate"),
    "a NUL": ("a: x\0y", "U+0000"),
    "an escaped NUL": (HEAD + 'steps: {a: {fail: "x\\0"}}', "U+0000"),
    "a pattern that takes long to compile": (
        HEAD + f"inputs: {{a: {{type: string, pattern: '{'(a|b){1,50}' * 5000}'}}}}\n"
        "steps: {a: {transform: '1'}}", "pattern",
    ),
    "a schema that is itself": (
        HEAD + "inputs: {a: {$ref: '#', default: 1}}\nsteps: {a: {transform: '1'}}", "",
    ),
}  # fmt: skip


def messages(findings: tuple[Finding, ...]) -> str:
    return "\n".join(f"{it.message} {it.help}" for it in findings)


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_text_is_refused_in_time(name: str) -> None:
    text, said = HOSTILE[name]
    began = time.process_time()

    parsed = parse(source(text))

    assert time.process_time() - began < 3
    assert said in messages(parsed.findings)
    assert all(it.span.line >= 1 and it.message for it in parsed.findings)


def test_scenario_26_the_bomb_of_395_bytes_and_the_cycle_give_one_finding_with_its_place() -> None:
    assert len(BOMB) < 400

    bomb, cycle = parse(source(BOMB)), parse(source("&x {b: *x}"))

    assert [(it.code, it.span.line) for it in bomb.findings] == [("DF001", 9)]
    assert [(it.code, it.span.column) for it in cycle.findings] == [("DF001", 8)]


@pytest.mark.parametrize(
    "text",
    ["a: |\n" + "  x\n" * 250_000, "a: >\n" + "  x\n" * 250_000, 'a: "' + "x\n" * 500_000 + '"',
     'a: "' + "\\n" * 500_000 + '"', "# x\n" * 250_000, "\n" * 1_000_000,
     "".join(f"- &a{i} x\n" for i in range(9_900)), "a: [" + "x," * 18_000 + "]",
     HEAD + "steps:\n" + "".join(f"  s{i}: {{transfrm: x}}\n" for i in range(4_900))],
    ids=["literal", "folded", "quoted lines", "escapes", "comments", "blank lines", "anchors",
         "items", "typos"],
)  # fmt: skip
def test_a_large_text_is_read_in_time(text: str) -> None:
    began = time.process_time()

    parsed = parse(source(text))

    assert time.process_time() - began < 10
    assert "20,000" not in messages(parsed.findings)


def test_as_many_values_aliases_and_levels_as_are_allowed_are_read() -> None:
    allowed = [
        "a: [" + ",".join("x" * 1 for _ in range(19_997)) + "]",
        "a: &a [x, x, x, x, x, x, x]\nb: [" + ",".join(["*a"] * 60) + "]",
        "[" * 64 + "]" * 64,
        "a: " + "x" * ((1 << 20) - 3),
    ]

    for text in allowed:
        assert all(it.code == "DF002" for it in parse(source(text)).findings)
    assert "deeper" in parse(source("[" * 65 + "]" * 65)).findings[0].message


@pytest.mark.parametrize(("aliases", "is_read"), [(20, True), (21, False)])
def test_aliases_may_stand_for_ten_times_what_is_written(aliases: int, is_read: bool) -> None:
    # 20 values and the list are 21, and 25 with what stands around them
    text = "a: &a [" + ",".join(["x"] * 20) + "]\nb: [" + ",".join(["*a"] * aliases) + "]\n"
    written, meant = 25 + aliases, 25 + 21 * aliases
    assert (meant <= 10 * written) is is_read

    assert ("aliases stand for" not in messages(parse(source(text)).findings)) is is_read


FRAGMENTS = st.sampled_from(
    ["a", "b: ", "- ", "? ", ": ", "\n", "\n  ", "\n    ", "[", "]", "{", "}", ",", "&x ", "*x",
     "!!str ", "!", "|", ">", "'", '"', "#", " # c\n", "---\n", "...\n", "%YAML 1.2\n", "\t", "\\",
     "0o7", "1e5", "~", "<<: ", "${{ x }}", "steps:", "dagflow: 1", "name: n", "\r\n", "\ufeff",
     "é", "😀", "|2-\n", ">+\n", "\\u12", "@", "`", "%"],
)  # fmt: skip


@settings(max_examples=400, deadline=None)
@given(st.lists(FRAGMENTS, max_size=30).map("".join))
def test_any_mixture_of_yaml_gives_findings_inside_the_text_and_never_an_error(text: str) -> None:
    parsed = parse(source(text))

    lines = text.removeprefix("\ufeff").split("\n")
    for found in parsed.findings:
        assert 1 <= found.span.line <= len(lines) + 1
        assert (found.span.line, found.span.column) <= (found.span.end_line, found.span.end_column)
    assert parsed.workflow is not None or parsed.findings


@settings(deadline=None)
@given(st.text())
def test_any_text_gives_findings_and_never_an_error(text: str) -> None:
    assert parse(source(text)).findings


@settings(deadline=None)
@given(st.binary())
def test_any_bytes_give_findings_and_never_an_error(data: bytes) -> None:
    text, findings = decode("w.yaml", data)

    assert findings or text.text == data.decode().removeprefix("\ufeff")
