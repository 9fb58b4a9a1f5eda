"""Files with one mistake each: exactly the finding in the first line, at its place.

The first line of a file is `# CODE name line:column message`; the message may be its beginning.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from dagflow.core.findings import Severity
from tests.rules.compiling import FAULTY, compiled

HEADER = re.compile(r"# (DF\d{3}) ([a-z-]+) (\d+):(\d+) ?(.*)")
FILES = sorted(path for path in FAULTY.glob("*.yaml") if ".openapi." not in path.name)


def expected(text: str) -> tuple[str, str, int, int, str]:
    header = HEADER.fullmatch(text.splitlines()[0])
    assert header, "the first line says what is expected"
    code, name, line, column, message = header.groups()
    return code, name, int(line), int(column), message


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_one_mistake_is_one_finding_at_its_place(path: Path) -> None:
    text = path.read_text()
    code, name, line, column, message = expected(text)

    report = compiled(text, path.name).report

    told = [f for f in report.findings if f.severity is not Severity.NOTE]
    assert [(f.code, f.name, f.span.line, f.span.column) for f in told] == [
        (code, name, line, column)
    ], [f"{f.code} {f.span.line}:{f.span.column} {f.message}" for f in told]
    assert told[0].message.startswith(message)
    assert (report.plan is None) == (told[0].severity is Severity.ERROR)


def test_there_are_enough_of_them_and_every_header_says_a_message() -> None:
    assert len(FILES) >= 60
    for path in FILES:
        assert expected(path.read_text())[4], path.name
