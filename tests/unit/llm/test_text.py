"""Streamed text: whole code points, and nothing past a stop text."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from dagflow.llm.engine.text import TextStream


def streamed(pieces: list[bytes], stops: list[str]) -> tuple[list[str], bool]:
    stream = TextStream(stops)
    shown = [stream.push(piece) for piece in pieces]
    return [*shown, stream.finish()], stream.stopped


def split(data: bytes, places: list[int]) -> list[bytes]:
    edges = [0, *sorted(min(place, len(data)) for place in places), len(data)]
    return [data[a:b] for a, b in pairwise(edges)]


TEXT = st.text("abcé😀漢")
PLACES = st.lists(st.integers(0, 60))


@given(TEXT, PLACES)
def test_no_piece_holds_half_a_code_point(text: str, places: list[int]) -> None:
    shown, _ = streamed(split(text.encode(), places), [])

    assert "".join(shown) == text
    assert all("\ufffd" not in piece for piece in shown)


@given(TEXT, PLACES, st.lists(st.text("abcé😀", min_size=1, max_size=4), min_size=1, max_size=3))
def test_text_ends_before_the_first_stop_text_however_it_is_cut(
    text: str, places: list[int], stops: list[str]
) -> None:
    shown, stopped = streamed(split(text.encode(), places), stops)

    if not stopped:
        assert "".join(shown) == text
        assert not any(stop in text for stop in stops)
        return
    before = "".join(shown)
    assert text.startswith(before)
    # where one stop text holds another, which of them is seen first depends on the cut
    assert any(text[len(before) :].startswith(stop) for stop in stops)
    assert not any(stop in before for stop in stops)


def test_text_is_held_back_only_as_long_as_it_may_be_a_stop_text() -> None:
    stream = TextStream(["END"])

    assert stream.push(b"a E") == "a "
    assert stream.push(b"N") == ""
    assert stream.push(b"x E") == "ENx "
    assert stream.finish() == "E"


def test_an_unfinished_code_point_at_the_end_is_dropped() -> None:
    shown, _ = streamed(["a😀".encode()[:-1]], [])

    assert shown == ["a", ""]


def test_bytes_that_are_never_a_code_point_are_shown_as_such() -> None:
    shown, _ = streamed([b"a\xff", b"b"], [])

    assert "".join(shown) == "a\ufffdb"
