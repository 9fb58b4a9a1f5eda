from __future__ import annotations

from functools import reduce
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dagflow.core.pointers import fragment, keys_of, look_up, under
from dagflow.core.values import JsonValue


@pytest.mark.parametrize(
    ("keys", "pointer"), [([], ""), ([""], "/"), (["a", 0, "b/c~d"], "/a/0/b~1c~0d")]
)
def test_a_pointer_is_written_as_the_standard_says(keys: list[object], pointer: str) -> None:
    assert reduce(under, keys, "") == pointer


@given(st.lists(st.text("~/01a")))
def test_a_pointer_leads_through_the_keys_that_it_was_made_of(keys: list[str]) -> None:
    assert keys_of(reduce(under, keys, "")) == tuple(keys)


@given(st.lists(st.text("~/01a %ü"), min_size=1))
def test_a_reference_is_a_pointer_written_as_a_part_of_an_address(keys: list[str]) -> None:
    pointer = reduce(under, keys, "")

    assert fragment(f"#{quote(pointer, safe='~/')}") == pointer
    assert fragment(f"#{quote(pointer, safe='')}") == pointer


def test_a_value_is_looked_up_by_its_pointer() -> None:
    root: JsonValue = {"a/b": [{"c~d": 1}, {"": 2}]}

    assert look_up(root, "") == root
    assert look_up(root, "/a~1b/0/c~0d") == 1
    assert look_up(root, "/a~1b/1/") == 2


@pytest.mark.parametrize(
    ("pointer", "missing"), [("/b", "b"), ("/a/1", "1"), ("/a/x", "x"), ("/a/0/b", "b")]
)
def test_a_pointer_to_nothing_names_the_first_key_that_is_missing(
    pointer: str, missing: str
) -> None:
    with pytest.raises(KeyError) as raised:
        look_up({"a": ["text"]}, pointer)

    assert raised.value.args == (missing,)
