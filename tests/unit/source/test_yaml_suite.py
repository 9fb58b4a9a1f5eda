from __future__ import annotations

import re
import time
from functools import cache

from dagflow.compiler.source.yaml import compose
from dagflow.core.findings import Severity
from dagflow.core.node import plain
from dagflow.core.source import Source

from .cases import REPOSITORY, Case, needs_cases, suite

pytestmark = needs_cases
PAGE = REPOSITORY / "docs" / "yaml.md"


def same(ours: object, theirs: object) -> bool:
    """Compare as JSON does: 1 and 1.0 are one number, true is none, keys have no order."""
    if isinstance(ours, bool) or isinstance(theirs, bool):
        return ours is theirs
    if isinstance(ours, dict) and isinstance(theirs, dict):
        return ours.keys() == theirs.keys() and all(same(ours[k], theirs[k]) for k in ours)
    if isinstance(ours, list) and isinstance(theirs, list):
        return len(ours) == len(theirs) and all(map(same, ours, theirs))
    both_numbers = isinstance(ours, int | float) and isinstance(theirs, int | float)
    return (type(ours) is type(theirs) or both_numbers) and ours == theirs


def verdict(case: Case) -> str:
    composed = compose(Source(case.id, case.text))
    refused = any(it.severity is Severity.ERROR for it in composed.findings)
    if not case.is_valid:
        return "invalid, refused" if refused else "invalid, accepted"
    if refused:
        return "valid, refused"
    if case.values is None:
        return "valid, not compared"
    values = [] if composed.root is None else [plain(composed.root)]
    return "equal" if same(values, case.values) else "misread"


@cache
def verdicts() -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for case in suite():
        if not case.is_skipped:
            found.setdefault(verdict(case), set()).add(case.id)
    return found


def listed(heading: str) -> dict[str, str]:
    """Return the cases of one table of the page, each with its reason."""
    section = re.split(r"^### ", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    body = next(text for text in section if text.startswith(heading))
    rows = re.findall(r"^\| (?!reason|---)(.*?) \| ([A-Z0-9/ ]+) \|$", body, re.MULTILINE)
    return {case: reason for reason, cases in rows for case in cases.split()}


def test_enough_cases_load_equal() -> None:
    assert len(verdicts()["equal"]) >= 214


def test_the_page_lists_exactly_the_valid_cases_that_are_refused() -> None:
    assert set(listed("Valid, and refused")) == verdicts()["valid, refused"]


def test_the_page_lists_exactly_the_invalid_cases_that_are_accepted() -> None:
    assert set(listed("Invalid, and accepted")) == verdicts()["invalid, accepted"]


def test_the_page_lists_exactly_the_cases_that_are_misread() -> None:
    assert set(listed("Misread")) == verdicts().get("misread", set())


def test_every_reason_is_a_sentence() -> None:
    reasons = {*listed("Valid, and refused").values(), *listed("Invalid, and accepted").values()}

    assert all(len(reason.split()) > 3 for reason in reasons)


def test_no_case_takes_long() -> None:
    for case in suite():
        began = time.process_time()

        compose(Source(case.id, case.text))

        assert time.process_time() - began < 1, case.id


def test_every_finding_is_inside_its_text() -> None:
    for case in suite():
        lines = (case.text.removeprefix("\ufeff") + "\n").split("\n")
        for found in compose(Source(case.id, case.text)).findings:
            assert 1 <= found.span.line <= len(lines), case.id
            assert 1 <= found.span.column <= len(lines[found.span.line - 1]) + 1, case.id
            assert found.message, case.id
