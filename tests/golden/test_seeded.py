"""Faults that were seeded in the formats of other tools, written in ours: each is found at its line.

A line that ends with `# <rule>` must have that finding, and the file no other error or warning;
`(witness)` asks for values that show it.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.rules.compiling import told

HERE = Path(__file__).parent / "seeded"
FILES = sorted(HERE.glob("*.yaml"))
MARK = re.compile(r"# ([a-z-]+)( \(witness\))?$")
PAGE = Path(__file__).parents[2] / "docs" / "peers.md"


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_seeded_fault_is_found_at_its_line_and_nothing_else(file: Path) -> None:
    text = file.read_text()
    marks = [
        (number, *mark.groups())
        for number, line in enumerate(text.splitlines(), 1)
        if (mark := MARK.search(line))
    ]
    ((line, rule, witness),) = marks

    findings = [finding for finding in told(text) if finding.name != "unused"]

    assert [(f.span.line, f.name) for f in findings] == [(line, rule)]
    assert witness is None or findings[0].witness is not None


def test_page_of_the_peers_has_every_fault_with_its_finding() -> None:
    rows = dict(re.findall(r"^\| `(\w+)` \|.*\| \[([a-z-]+)\]", PAGE.read_text(), re.MULTILINE))

    told_of = {}
    for file in FILES:
        mark = re.search(r"# ([a-z-]+)(?: \(witness\))?$", file.read_text(), re.MULTILINE)
        assert mark is not None
        told_of[file.stem] = mark[1]
    assert rows == told_of
    assert len(rows) == 15 + 7 + 4
