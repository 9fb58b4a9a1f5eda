from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dagflow.compiler.source.resolver import RefusedScalarError, resolve
from dagflow.compiler.source.text import decode
from dagflow.compiler.source.yaml import compose
from dagflow.core.findings import Severity
from dagflow.core.node import Mapping, Scalar, Sequence

from .reading import one_error, place, source, tree, under, value

SCALARS = {
    "on": "on", "yes": "yes", "no": "no", "NO": "NO", "off": "off", "y": "y", "22:22": "22:22",
    "2024-01-01": "2024-01-01", "1_000": "1_000", "0b1": "0b1", "1.2.3": "1.2.3", "0x": "0x",
    "010": 10, "12": 12, "+12": 12, "-12": -12, "-0": 0, "0o14": 12, "0x1F": 31, "-0x1F": "-0x1F",
    "9223372036854775807": 2**63 - 1, "-9223372036854775808": -(2**63),
    "1e3": 1000.0, "1.10": 1.1, ".5": 0.5, "1.": 1.0, "-1.5E-2": -0.015, "e3": "e3", ".": ".",
    "true": True, "True": True, "TRUE": True, "tRUE": "tRUE", "false": False,
    "null": None, "~": None, "": None, "Null": None, "nULL": "nULL", "<<": "<<", "=": "=",
}  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), SCALARS.items())
def test_plain_scalars_are_read_by_the_core_schema(text: str, expected: object) -> None:
    read = resolve(text)

    assert read == expected
    assert type(read) is type(expected)


@pytest.mark.parametrize(
    "text",
    ["9223372036854775808", "-9223372036854775809", "9" * 5000, "0xFFFFFFFFFFFFFFFF", "1e400",
     "-1e400", ".inf", "-.Inf", ".nan", ".NaN"],
)  # fmt: skip
def test_numbers_that_json_or_64_bits_cannot_hold_are_refused(text: str) -> None:
    with pytest.raises(RefusedScalarError):
        resolve(text)
    found = one_error(f"a: {text}")

    assert place(found) == (1, 4)
    assert value(f'a: "{text}"') == {"a": text}


def test_scenario_25_keys_and_values_are_read_as_yaml_1_2_and_duplicates_show_both_places() -> None:
    text = "on: 22:22\nNO: 010\na: 1_000\nb: 1e3\nc: 1.10\nd: 2024-01-01\n"

    assert value(text) == {
        "on": "22:22", "NO": 10, "a": "1_000", "b": 1000.0, "c": 1.1, "d": "2024-01-01",
    }  # fmt: skip

    found = one_error("a: 1\nb: 2\na: 3\n")

    assert place(found) == (3, 1)
    assert "`a` appears twice" in found.message
    assert [(it.span.line, it.span.column) for it in found.related] == [(1, 1)]


def test_the_first_of_two_equal_keys_is_kept() -> None:
    composed = compose(source("a: 1\na: 2\n"))

    assert isinstance(composed.root, Mapping)
    assert [str(key.value) for key, _ in composed.root.entries] == ["a"]


def test_keys_that_differ_only_in_unicode_form_are_refused() -> None:
    found = one_error("caf\u00e9: 1\ncafe\u0301: 2\n")

    assert place(found) == (2, 1)
    assert "Unicode form" in found.message


@pytest.mark.parametrize(("key", "kind"), [("1", "a number"), ("true", "a boolean"), ("~", "null")])
def test_a_key_that_is_no_text_is_refused_and_read_as_text(key: str, kind: str) -> None:
    composed = compose(source(f"{key}: x\n"))

    assert [kind in it.message for it in composed.findings] == [True]
    assert isinstance(composed.root, Mapping)
    assert composed.root.entries[0][0].value == key


@pytest.mark.parametrize("text", ["? [a]\n: b\n", "{{a: b}: c}\n", "? |\n  a\n: b\n? : c\n"])
def test_other_keys_are_refused(text: str) -> None:
    assert compose(source(text)).findings


def test_a_merge_key_is_refused_with_what_to_do_and_quoted_it_is_text() -> None:
    found = one_error("a: &a {x: 1}\nb:\n  <<: *a\n")

    assert place(found) == (3, 3)
    assert "defaults" in found.help
    assert found.path == "/b"
    assert value('"<<": 1') == {"<<": 1}


@pytest.mark.parametrize(
    ("text", "expected"),
    [("!!str 12", "12"), ("!!int '3'", 3), ("!!float 1", 1.0), ("!!bool true", True),
     ("!!null ''", None), ("! 12", "12"), ("!!seq [1]", [1]), ("!!map {a: 1}", {"a": 1})],
)  # fmt: skip
def test_core_tags_are_read(text: str, expected: object) -> None:
    read = value(f"a: {text}")

    assert read == {"a": expected}


@pytest.mark.parametrize(
    "text",
    ["!foo x", "!!binary aGk=", "!!timestamp 2024-01-01", "!!set {a}", "!!omap [a: 1]",
     "!<tag:x,2000:y> z", "!!int x", "!!bool 1", "!!python/object:os.system x", "!!str [a]"],
)  # fmt: skip
def test_other_tags_are_refused(text: str) -> None:
    assert compose(source(f"a: {text}")).findings[0].span.line == 1


@pytest.mark.parametrize(
    ("text", "where", "said"),
    [
        ("a: b: c\n", (1, 5), "`:`"),
        ("a:\n\tb: 1\n", (2, 1), "tab"),
        ("a: @x\n", (1, 4), "`@`"),
        ("a: `x`\n", (1, 4), "backtick"),
        ("a: [1, 2\nb: 3\n", (2, 2), "`,` or `]`"),
        ("a: {x: 1\nb: 3\n", (2, 2), "`,` or `}`"),
        ('a: "abc\n', (1, 8), "quoted"),
        ('a: "\\q"\n', (1, 5), "escape"),
        ("a: 'x' y\n", (1, 8), ""),
        ("- a\nb: 1\n", (2, 1), "no item"),
        ("a: *x\n", (1, 4), "no anchor `&x`"),
        ("a: 1\n b: 2\n", (2, 3), "`:`"),
        ("a: 1\n---\nb: 1\n", (2, 1), "second document"),
        ("a: [b,#c\n]", (1, 7), "`#`"),
        ("a: [-]", (1, 5), ""),
        ("a: [?x]", (1, 5), "`?`"),
        (": x\n", (1, 1), "empty"),
        ("a: |0\n  x\n", (1, 5), "indent"),
        ('a: "\\ud83d\\ude00"\n', (1, 7), "surrogates"),
    ],
)
def test_a_syntax_error_is_one_finding_at_its_place(
    text: str, where: tuple[int, int], said: str
) -> None:
    found = one_error(text)

    assert place(found) == where
    assert said in found.message + found.help
    assert found.help


def test_a_template_without_quotes_between_brackets_is_explained() -> None:
    found = one_error("with: {id: ${{ inputs.id }}, b: 1}\n")

    assert "quotes" in found.help
    assert "${{" in found.help
    assert found.related[0].span.column == 7


def test_every_problem_of_the_values_is_found_in_one_pass() -> None:
    composed = compose(source("a: 1\na: 2\nb: .inf\n1: x\nc: !foo y\n<<: z\n"))

    assert [it.span.line for it in composed.findings] == [2, 3, 4, 5, 6]


@pytest.mark.parametrize(
    ("char", "said"),
    [("\0", "U+0000"), ("\x07", "U+0007"), ("\x7f", "U+007F"), ("\x85", "line break"),
     ("\u2028", "line break"), ("\ufeff", "byte order mark"), ("\ud800", "surrogate"),
     ("\rx", "carriage return"), ("\ufffe", "U+FFFE")],
)  # fmt: skip
def test_characters_that_readers_differ_about_are_refused_where_they_stand(
    char: str, said: str
) -> None:
    found = one_error(f"é: 1\nb: x{char}\n")

    assert place(found) == (2, 5)
    assert said in found.message


def test_escaped_they_are_text_but_for_u_0000() -> None:
    assert value('a: "\\u2028\\x07\\x7f"') == {"a": "\u2028\x07\x7f"}
    assert place(one_error('a: "x\\0"')) == (1, 4)


def test_a_byte_order_mark_at_the_beginning_moves_no_place() -> None:
    text = "\ufeffa: 1\n"

    root = tree(text)

    assert (root.span.line, root.span.column) == (1, 1)


def test_bytes_that_are_not_utf_8_are_a_finding_at_their_place() -> None:
    text, findings = decode("w.yaml", "é: 1\nb: é\n".encode("latin-1"))

    assert [(it.span.line, it.span.column) for it in findings] == [(1, 1)]
    assert "0xe9" in findings[0].message
    assert text.text.endswith("b: \ufffd\n")
    assert place(decode("w", b"a: 1\nb: x\xff")[1][0]) == (2, 5)
    assert "UTF-16" in decode("w.yaml", "a: 1".encode("utf-16"))[1][0].message
    assert decode("w.yaml", "\ufeffé: 1".encode())[0].text == "é: 1"


@pytest.mark.parametrize(
    ("head", "severity"),
    [("%YAML 1.2", None), ("%YAML 1.1", Severity.WARNING), ("%YAML 1.3", Severity.WARNING),
     ("%FOO bar", Severity.WARNING), ("%YAML 2.0", Severity.ERROR), ("%YAML", Severity.ERROR),
     ("%YAML 1.2\n%YAML 1.2", Severity.ERROR), ("%TAG !a! tag:b", Severity.ERROR)],
)  # fmt: skip
def test_directives(head: str, severity: Severity | None) -> None:
    composed = compose(source(f"{head}\n---\na: 0o10\n"))

    assert [it.severity for it in composed.findings] == ([severity] if severity else [])
    assert (composed.root is None) is (severity is Severity.ERROR)


def test_places_count_code_points_and_a_span_ends_behind_its_last_character() -> None:
    text = "😀é: [αβ, {x: y}]\nl:\n  - a\n  - b: c\n\nm: z\n"
    root = tree(text)

    assert isinstance(root, Mapping)
    (key, items), (_, block), _ = root.entries
    assert isinstance(items, Sequence)
    assert isinstance(block, Sequence)
    assert (key.span.column, key.span.end_column) == (1, 3)
    assert (items.span.column, items.span.end_column) == (5, 17)
    assert [(it.span.column, it.span.end_column) for it in items.items] == [(6, 8), (10, 16)]
    span = block.span
    assert (span.line, span.column, span.end_line, span.end_column) == (3, 3, 4, 9)


def test_a_node_begins_behind_its_anchor_and_tag() -> None:
    root = tree("a: &x !!str\n  # why\n  foo\nb: *x\n")

    assert isinstance(root, Mapping)
    first, second = (node for _, node in root.entries)
    assert isinstance(first, Scalar)
    assert (first.span.line, first.span.column, first.raw) == (3, 3, "foo")
    assert second is first


def test_an_anchor_with_other_characters_is_refused() -> None:
    assert "an:chor" in one_error("a: &an:chor b\n").message


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")),
    lambda inner: st.lists(inner, max_size=4)
    | st.dictionaries(st.from_regex(r"[a-z]{1,6}", fullmatch=True), inner, max_size=4),
    max_leaves=12,
)  # fmt: skip


@given(JSON)
def test_json_is_yaml(data: object) -> None:
    import json

    text = json.dumps(data)
    if "\\ud8" in text or "\\ud9" in text or "\\uda" in text or "\\udb" in text:
        text = json.dumps(data, ensure_ascii=False)
    composed = compose(source(text))
    if composed.findings:  # characters that are refused as they stand
        assert all(it.code == "DF001" for it in composed.findings)
        return

    assert value(text) == data


def test_what_a_finding_points_at_is_what_it_speaks_of() -> None:
    text = "a:\n  b: .nan\n"
    found = one_error(text)

    assert under(found, text) == ".nan"
    assert found.path == "/a/b"
