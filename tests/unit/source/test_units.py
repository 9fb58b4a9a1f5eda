from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dagflow.compiler.source.units import UnitError, duration, rate, size


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("200ms", timedelta(milliseconds=200)), ("5s", timedelta(seconds=5)),
        ("10m", timedelta(minutes=10)), ("2h", timedelta(hours=2)), ("1d", timedelta(days=1)),
        ("1h30m", timedelta(hours=1, minutes=30)), ("1.5s", timedelta(seconds=1.5)),
        ("1d2h3m4s5ms", timedelta(days=1, hours=2, minutes=3, seconds=4, milliseconds=5)),
        ("0.5ms", timedelta(microseconds=500)), ("0s", timedelta()),
    ],
)  # fmt: skip
def test_durations(text: str, expected: timedelta) -> None:
    assert duration(text) == expected


@pytest.mark.parametrize(
    ("text", "hint"),
    [("5", "5s"), ("5 s", "5s"), ("5sec", "5s"), ("2 minutes", "2m"), ("1 h 30 min", "1h30m"),
     ("5S", "5s"), ("", ""), ("s", ""), ("-5s", ""), ("30m1h", ""), ("1e3s", ""), ("5y", ""),
     ("22:22", ""), ("99999999d", ""), ("5s5s", "")],
)  # fmt: skip
def test_what_is_no_duration_and_what_may_be_meant(text: str, hint: str) -> None:
    with pytest.raises(UnitError) as error:
        duration(text)

    assert error.value.hint == hint


@pytest.mark.parametrize(
    ("text", "expected"),
    [("128MiB", 128 << 20), ("10MB", 10_000_000), ("1.5GiB", 3 << 29), ("1kB", 1000),
     ("1KB", 1000), ("7B", 7), ("2TiB", 2 << 40), ("4KiB", 4096)],
)  # fmt: skip
def test_sizes(text: str, expected: int) -> None:
    assert size(text) == expected
    assert rate(f"{text}/s") == expected


@pytest.mark.parametrize(
    ("text", "hint"),
    [("128 MiB", "128MiB"), ("128mb", "128MB"), ("128Mi", "128MiB"), ("128M", "128MB"),
     ("128", "128B"), ("x", ""), ("1.5B", ""), ("-1MB", ""), ("9999999TiB", "")],
)  # fmt: skip
def test_what_is_no_size_and_what_may_be_meant(text: str, hint: str) -> None:
    with pytest.raises(UnitError) as error:
        size(text)

    assert error.value.hint == hint


@pytest.mark.parametrize(
    ("text", "hint"), [("10MB", "10MB/s"), ("10mb/s", "10MB/s"), ("10MB/m", "10MB/s"), ("x/s", "")]
)
def test_what_is_no_rate_and_what_may_be_meant(text: str, hint: str) -> None:
    with pytest.raises(UnitError) as error:
        rate(text)

    assert error.value.hint == hint


@given(st.text(st.sampled_from("0123456789.smhdMKiBk/ "), max_size=12))
def test_a_hint_is_always_readable_itself(text: str) -> None:
    for read in (duration, size, rate):
        try:
            read(text)
        except UnitError as error:
            if error.hint:
                read(error.hint)
