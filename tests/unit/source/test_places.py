from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dagflow.compiler.source.places import Places, place_of, pointer_to, scalars
from dagflow.compiler.source.spelling import MisspeltError, is_plain_literal, spell
from dagflow.core.node import Mapping, Scalar
from dagflow.core.source import At, Source, Span

from .reading import source, tree


def only(text: str) -> tuple[Scalar, Source]:
    (found,) = scalars(tree(text))
    return found, source(text)


def shown(text: str, offset: int) -> tuple[int, int, str]:
    """Return the place of a character of the only value, and what the file has there."""
    node, file = only(text)
    span = place_of(node, offset, file)
    return span.line, span.column, file.line(span.line)[span.column - 1 : span.end_column - 1]


@pytest.mark.parametrize(
    "text",
    [
        "a: plain text",
        "a:   'single ☃ 😀 text'",
        'a: "double ☃ 😀 text"',
        "a: 'it''s'",
        "a: |\n  one\n    two\n\n  three\n",
        "a: |-\n\n\n  one\n  two",
        "a: |2\n   one\n  two\n",
        "a: |+\r\n  one\r\n  two\r\n\r\n",
        "a: >\n  one\n  two\n\n\n  three\n    more\n   less\n  four\n",
        "a: >-\n\n  one\n\n  two\n",
        "a: >2-  # why\n   deeper\n  text\n",
        "a: plain\n  over  \n\n   lines # not\n",
        "a: 'single\n  over  \n\n   lines'",
        'a: "double\n  over  \n\n   lines"',
        'a: "x\\ty\\\n     z\\n\n  w"',
        "- &x !!str\n  tagged",
        "k: {a: [x, y y]}".replace("[x, y y]", "y y"),
        "? |\n  key\n: |\n  value\n",
        "a:\n    |\n  text\n",
    ],
)
def test_each_character_of_a_value_is_found_in_the_file(text: str) -> None:
    node, file = only(text)
    written = str(node.value)

    for offset, char in enumerate(written):
        span = place_of(node, offset, file)
        there = file.line(span.line)[span.column - 1 : span.end_column - 1]
        is_folded = char in " \n" and there == ""
        assert there in {char, "\\"} or is_folded, (offset, char, there)
        assert node.span.line <= span.line


@pytest.mark.parametrize(
    ("text", "offset", "expected"),
    [
        ('a: "\\U0001F600 x"', 0, (1, 5, "\\")),
        ('a: "\\U0001F600 x"', 2, (1, 16, "x")),
        ('a: "\\x41\\u0042c"', 2, (1, 15, "c")),
        ("a: 'it''s x'", 3, (1, 9, "s")),
        ('a: "one \\\n    two"', 4, (2, 5, "t")),
        ("a: >\n  one\n  two\n", 4, (3, 3, "t")),
        ("a: >\n  one\n  two\n", 3, (2, 6, "")),
        ("a: |\n    one\n     two\n", 5, (3, 6, "t")),
        ("a: plain\n  more", 6, (2, 3, "m")),
        ("a: 😀x", 1, (1, 5, "x")),
        ("a: xyz", 3, (1, 7, "")),
    ],
)
def test_places_over_escapes_and_folds(
    text: str, offset: int, expected: tuple[int, int, str]
) -> None:
    assert shown(text, offset) == expected


def test_a_stretch_of_several_characters() -> None:
    node, file = only("a: >\n  one ${{ x\n  + y }} two\n")
    begin = str(node.value).index("x + y")

    span = place_of(node, begin, file, length=5)

    assert (span.line, span.column, span.end_line, span.end_column) == (2, 11, 3, 6)


def test_a_number_is_its_own_text() -> None:
    node, file = only("a: 12345")

    assert place_of(node, 2, file).column == 6


def test_a_value_that_kept_only_its_span_is_found_again() -> None:
    text = "when: >-\n  a\n  && b\n"
    root = tree(text)
    assert isinstance(root, Mapping)
    written = At(str(root.entries[0][1].value), root.entries[0][1].span)  # type: ignore[union-attr]

    span = Places(source(text), root).of(written, 5)

    assert (span.line, span.column) == (3, 6)


def test_an_aliased_scalar_is_met_once_a_collection_too() -> None:
    root = tree("a: &x [one, two]\nb: *x\nc: *x\n")

    assert len(list(scalars(root))) == 2


LINE = st.text(st.sampled_from("ab é😀\t:#-'\"\\|>"), max_size=8)


@given(
    st.lists(LINE, min_size=1, max_size=6), st.integers(1, 4), st.sampled_from(["|", "|-", "|+"])
)
def test_literal_blocks_of_any_lines(lines: list[str], indent: int, header: str) -> None:
    body = "\n".join(" " * indent + line for line in ["x", *lines])
    text = f"a: {header}\n{body}\n"
    node, file = only(text)

    for offset, char in enumerate(str(node.value)):
        span = place_of(node, offset, file)
        there = file.line(span.line)[span.column - 1 : span.end_column - 1]
        assert char in {there, "\n"}
    assert is_plain_literal(node.raw, str(node.value))


@given(
    st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Zl", "Zp", "Cn"]), min_size=1)
)
def test_double_quoted_text_of_any_characters(text: str) -> None:
    if "\ufeff" in text:
        return
    quoted = text.replace("\\", "\\\\").replace('"', '\\"')
    node, file = only(f'a: "{quoted}"')

    assert node.value == text
    for offset, char in enumerate(text):
        span = place_of(node, offset, file)
        assert file.line(1)[span.column - 1] == ("\\" if char in '\\"' else char)


@pytest.mark.parametrize(
    ("raw", "value"),
    [("|\n  a\n", "b\n"), ('"a\\nb"', "a b"), ("a\n  b", "a\nb"), (">\n  a\n  b\n", "a\nb\n")],
)
def test_a_spelling_of_something_else_is_seen(raw: str, value: str) -> None:
    assert spell(raw, value) is None
    assert not is_plain_literal(raw, value)


@pytest.mark.parametrize("raw", ["|\n   \n  a\n", ">#x\n  a\n", '"\\q"'])
def test_a_spelling_that_yaml_does_not_allow_is_seen(raw: str) -> None:
    with pytest.raises(MisspeltError):
        spell(raw, "a\n")


@pytest.mark.parametrize(
    ("word", "pointer"),
    [
        ("first", "/a/0"),
        ("key", "/a/1/key"),
        ("second", "/a/1/key"),
        ("third", "/a/1/k~1~0"),
        ("# between", ""),
        ("inner", "/b/inner"),
        ("last", "/b/last"),
        ("fourth", "/c/1"),
        ("# end", ""),
    ],
)
def test_a_place_has_the_pointer_of_the_innermost_part_around_it(word: str, pointer: str) -> None:
    text = (
        "a: &a\n- first\n- &i {key: second, 'k/~': third}\n# between\n"
        "b:\n  inner: *i\n  last: *i\nc: [*i, fourth, *a]\n# end\n"
    )
    before = text[: text.index(word)]
    line, column = before.count("\n") + 1, len(before) - before.rfind("\n")

    assert pointer_to(tree(text), Span(line, column, line, column + 1)) == pointer
