"""Fixes are made where they help, and never leave a file worse."""

from __future__ import annotations

from dagflow.core.findings import Edit, Finding, Fix, Report, Severity
from dagflow.core.source import Span
from dagflow.service.fixing import apply, fix


def edit(line: int, column: int, end: int, text: str) -> Edit:
    return Edit(Span(line, column, line, end, "f"), text)


def finding(*edits: Edit, severity: Severity = Severity.WARNING, what: str = "mend") -> Finding:
    fixes = (Fix(what, edits),) if edits else ()
    place = edits[0].span if edits else Span(1, 1, 1, 1, "f")
    return Finding("DF001", "x", severity, "m", place, fixes=fixes)


def report(*findings: Finding) -> Report:
    return Report(workflow="w", version="", plan=None, findings=findings)


def test_edits_are_in_code_points_and_do_not_move_each_other() -> None:
    text = "äb𝄞d\r\nefg\n"
    changes = Fix("", (edit(1, 3, 4, "CLEF"), edit(2, 1, 2, ""), edit(1, 1, 1, ">")))

    assert apply(text, [changes]) == ">äbCLEFd\r\nfg\n"


def test_text_is_fixed_until_nothing_is_left() -> None:
    def check(text: str) -> Report:
        at = text.find("a") + 1
        return report(finding(edit(1, at, at + 1, "b"))) if at else report()

    done = fix("caab", "f", check)

    assert done.text == "cbbb"
    assert len(done.made) == 2


def test_fix_that_brings_an_error_is_left_out_and_others_are_made() -> None:
    def check(text: str) -> Report:
        found = []
        if text[0] == "a":
            found.append(finding(edit(1, 1, 2, "X"), what="bad"))
        if text[1] == "b":
            found.append(finding(edit(1, 2, 3, "c"), what="good"))
        if "X" in text:
            found.append(finding(severity=Severity.ERROR))
        return report(*found)

    done = fix("ab", "f", check)

    assert done.text == "ac"
    assert done.made == ("good",)


def test_fixes_that_overlap_are_made_one_after_the_other() -> None:
    def check(text: str) -> Report:
        if text == "abc":
            return report(finding(edit(1, 1, 3, "x")), finding(edit(1, 2, 4, "y")))
        return report()

    assert fix("abc", "f", check).text == "xc"


def test_fix_of_another_file_is_not_made() -> None:
    other = finding(Edit(Span(1, 1, 1, 2, "g"), "z"))

    assert fix("abc", "f", lambda _: report(other)).text == "abc"


def test_fix_that_never_ends_is_stopped() -> None:
    done = fix("a", "f", lambda text: report(finding(edit(1, 1, 1, "a"))) if text else report())

    assert len(done.made) == 10
