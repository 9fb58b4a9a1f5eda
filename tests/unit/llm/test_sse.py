"""Server-sent events survive however the network cut them."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dagflow.core.errors import StepError
from dagflow.llm import sse

BODY = (
    b'\xef\xbb\xbf: a comment\r\n\r\ndata: {"a":\r\ndata: 1}\r\n\r\n'
    b"event: x\nid: 3\ndata:no space\n\ndata\n\nretry: 5\rdata: \xf0\x9f\x98\x80 \xc3\xa9\r\r"
    b"data: last, without an empty line"
)
EVENTS = ['{"a":\n1}', "no space", "", "😀 é", "last, without an empty line"]


def parsed(chunks: list[bytes]) -> list[str]:
    parser = sse.EventParser()
    found = [event for chunk in chunks for event in parser.feed(chunk)]
    return [*found, *parser.finish()]


def cut(body: bytes, places: list[int]) -> list[bytes]:
    edges = [0, *sorted(places), len(body)]
    return [body[a:b] for a, b in pairwise(edges)]


def test_every_form_of_line_and_field_is_read() -> None:
    assert parsed([BODY]) == EVENTS


@example([30, 30])  # an empty piece between CR and LF
@given(st.lists(st.integers(0, len(BODY))))
def test_events_are_the_same_wherever_the_bytes_are_cut(places: list[int]) -> None:
    assert parsed(cut(BODY, places)) == EVENTS


def test_an_event_is_given_as_soon_as_it_is_whole() -> None:
    parser = sse.EventParser()

    assert list(parser.feed(b"data: one\n")) == []
    assert list(parser.feed(b"\n")) == ["one"]


def test_a_line_feed_after_a_carriage_return_in_another_chunk_is_no_empty_line() -> None:
    assert parsed([b"data: a\r", b"\ndata: b\r", b"\n\r", b"\n"]) == ["a\nb"]


@pytest.mark.parametrize("endless", [b"data: x\n", b"x" * 1000])
def test_an_event_without_an_end_is_refused(endless: bytes, monkeypatch) -> None:
    monkeypatch.setattr(sse, "MAX_EVENT", 10_000)
    parser = sse.EventParser()

    def feed_on() -> None:
        for _ in range(20_000):
            list(parser.feed(endless))

    with pytest.raises(StepError, match="over 10000 characters") as caught:
        feed_on()

    assert caught.value.error_class == "network"
