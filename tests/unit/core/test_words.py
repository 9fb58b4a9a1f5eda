from __future__ import annotations

import pytest

from dagflow.core.words import closest, listed, nearest


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ([], ""),
        (["a"], "a"),
        (["a", "b"], "a or b"),
        (["a", "b", "c"], "a, b or c"),
        (list("abcdefgh"), "a, b, c, d, e, f and 2 more"),
    ],
)
def test_words_are_listed_as_people_write_them(words: list[str], text: str) -> None:
    assert listed(words) == text


def test_a_list_without_a_limit_has_every_word() -> None:
    assert listed("abcdefgh", last="and", limit=None) == "a, b, c, d, e, f, g and h"


def test_the_nearest_name_is_found_whatever_its_case() -> None:
    assert closest("FECTH", ["fetch", "grade"]) == "fetch"
    assert closest("zzz", ["fetch", "grade"]) is None
    assert nearest("Fecth", ["fetch"]) == "; did you mean 'fetch'?"
    assert nearest("zzz", ["fetch"]) == ""
