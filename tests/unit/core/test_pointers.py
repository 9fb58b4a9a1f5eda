from __future__ import annotations

from functools import reduce

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dagflow.core.pointers import keys_of, under


@pytest.mark.parametrize(
    ("keys", "pointer"), [([], ""), ([""], "/"), (["a", 0, "b/c~d"], "/a/0/b~1c~0d")]
)
def test_a_pointer_is_written_as_the_standard_says(keys: list[object], pointer: str) -> None:
    assert reduce(under, keys, "") == pointer


@given(st.lists(st.text("~/01a")))
def test_a_pointer_leads_through_the_keys_that_it_was_made_of(keys: list[str]) -> None:
    assert keys_of(reduce(under, keys, "")) == tuple(keys)
