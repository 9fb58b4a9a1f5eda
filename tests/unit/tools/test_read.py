"""Documents read from text, with their guards."""

from __future__ import annotations

import pytest

from dagflow.tools.read import DocumentError, ReadLimits, read_document


def test_json_and_yaml_of_one_document_read_equal() -> None:
    json_text = '{"openapi": "3.1.0", "paths": {"/a": {"get": {"responses": {"200": {}}}}}}'
    yaml_text = "openapi: 3.1.0\npaths:\n  /a:\n    get: {responses: {200: {}}}\n"

    assert read_document(yaml_text) == read_document(json_text)


def test_yaml_scalars_are_those_of_yaml_1_2() -> None:
    text = (
        "a: [on, yes, no, 22:22, 2024-01-01, 1_000, .inf]\n"
        "b: [010, 0o14, 0x1f, 1e3, 1.50, -7, true, ~, null, '1', \"true\"]\n"
        "on: x\n"
    )

    assert read_document(text) == {
        "a": ["on", "yes", "no", "22:22", "2024-01-01", "1_000", ".inf"],
        "b": [10, 12, 31, 1000.0, 1.5, -7, True, None, None, "1", "true"],
        "on": "x",
    }


def test_large_integers_keep_their_digits_in_both_forms() -> None:
    assert read_document('{"a": 7615917337495251231}') == {"a": 7615917337495251231}
    assert read_document("a: 7615917337495251231") == {"a": 7615917337495251231}


BOMB = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{name}: &{name} [{', '.join(['*' + before] * 9)}]\n"
    for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (BOMB, "aliases make"),
        ("a: &a {b: *a}", "inside its own anchor"),
        ("a: " + "[" * 300 + "]" * 300, "nested deeper than 200"),
        ("a: " + "[" * 5000 + "]" * 5000, "not YAML"),
        ('{"a": ' + "[" * 100_000 + "]" * 100_000 + "}", "nested too deeply"),
        ('{"a": 1, "b": {"c": 1, "c": 2}}', "'c' appears twice"),
        ("a: 1\nb: 2\na: 3\n", "'a' appears twice (line 3, column 1)"),
        ('{"a": NaN}', "NaN is not a JSON number"),
        ("base: &b {x: 1}\nother:\n  <<: *b\n", "merge keys"),
        ("? [a, b]\n: 1\n", "not a scalar"),
        ("a: 1\n---\nb: 2\n", "not YAML"),
        ("a: [1, 2\n", "not YAML"),
        ("- a\n", "not an object"),
        ("", "empty"),
        ("\x00", "not YAML"),
    ],
)
def test_what_no_document_may_hold_is_refused_with_its_reason(text: str, words: str) -> None:
    with pytest.raises(DocumentError, match=None) as caught:
        read_document(text)

    assert words in str(caught.value)


def test_tags_build_no_objects() -> None:
    read = read_document("a: !!python/object/apply:os.system [echo]\n")

    assert read == {"a": ["echo"]}


def test_size_is_capped() -> None:
    with pytest.raises(DocumentError, match="larger than 10 bytes"):
        read_document('{"a": "0123456789"}', limits=ReadLimits(size=10))


def test_aliases_of_an_ordinary_document_are_fine() -> None:
    read = read_document("a: &a {type: string}\nb: [*a, *a]\n")

    assert read["b"] == [{"type": "string"}, {"type": "string"}]
