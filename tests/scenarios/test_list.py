"""The table of scenarios is whole and true."""

from __future__ import annotations

import re
from pathlib import Path

FOLDER = Path(__file__).parent
ROW = re.compile(r"^\| (\d+) \| (.+?) \| (.+?) \| (.+?) \|$", re.MULTILINE)
TESTS = re.compile(r"^(?:async )?def (test_\d\d_\w+)\(", re.MULTILINE)


def rows() -> list[tuple[str, ...]]:
    return ROW.findall((FOLDER / "README.md").read_text("utf-8"))


def held() -> set[str]:
    return {name for file in FOLDER.glob("test_*.py") for name in TESTS.findall(file.read_text())}


def test_every_scenario_is_listed_once_in_order() -> None:
    assert [int(number) for number, *_ in rows()] == list(range(1, 29))


def test_every_test_that_is_named_exists_and_every_test_is_named() -> None:
    named = {name for row in rows() for name in re.findall(r"`(test_\w+)`", row[2])}

    assert named == held()


def test_a_test_stands_in_the_row_of_its_number() -> None:
    for number, _, cell, _ in rows():
        found = re.findall(r"`test_(\d\d)_", cell)

        assert {int(each) for each in found} <= {int(number)}


def test_what_has_no_test_says_where_it_will_be() -> None:
    for number, _, cell, later in rows():
        assert "test_" in cell or later != "–", number
