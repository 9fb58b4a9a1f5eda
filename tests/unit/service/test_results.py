"""Results as text, JSON and JUnit's XML; coverage; and which files a word means."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import jsonschema_rs
import pytest

from dagflow.compiler.source.yaml import compose
from dagflow.core.errors import UsageError
from dagflow.core.node import plain
from dagflow.core.source import Source
from dagflow.service.testing.files import files_of
from dagflow.service.testing.formats import as_json, as_junit
from dagflow.service.testing.json_schema import cases_schema
from dagflow.service.testing.running import covered
from dagflow.service.testing.text import coverage_text, file_text, summary_text
from tests.unit.service.desk import COMMON, run
from tests.unit.service.test_answers import CHILDREN, GOOD, LOOPS, SIGNALS

TWO = """\
cases:
  - name: good
    expect: {path: [fetch, grade, route, close]}
  - name: bad <&>
    expect:
      outputs: {severity: high}
"""


def test_the_text_has_a_line_a_case_and_shows_where_one_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = run(tmp_path, TWO)
    monkeypatch.chdir(tmp_path)

    text = file_text(found).replace(f"{tmp_path}/", "")

    assert text == (
        "desk.test.yaml\n"
        "  ok      good\n"
        "  FAILED  bad <&>\n"
        "\n"
        "    error: output `severity` differs\n"
        "      --> desk.test.yaml:14:27\n"
        "        |\n"
        "     14 |       outputs: {severity: high}\n"
        "        |                           ^^^^\n"
        '      = expected: "high"\n'
        '      = got:      "low"\n'
        "      = the run: succeeded: fetch → grade → route → close\n"
        "\n"
    )
    assert summary_text((found,)) == "FAILED 1 case passed, 1 failed, in 1 file\n"
    assert "\x1b[1;31mFAILED" in file_text(found, color=True)


def test_json_has_everything_with_its_place(tmp_path: Path) -> None:
    found = run(tmp_path, TWO)

    value: Any = as_json((found,), covered((found,)))

    assert json.loads(json.dumps(value)) == value
    assert value["passed"] is False
    (file,) = value["files"]
    good, bad = file["cases"]
    assert (good["passed"], good["failures"]) == (True, [])
    (failure,) = bad["failures"]
    assert (failure["expected"], failure["got"]) == ('"high"', '"low"')
    assert (failure["line"], failure["column"]) == (14, 27)
    (coverage,) = value["coverage"].values()
    assert coverage == {"reached": 5, "total": 8, "not_reached": ["route[0]", "ask", "call"]}


def test_junit_counts_cases_and_carries_the_words(tmp_path: Path) -> None:
    found = run(tmp_path, TWO)
    (tmp_path / "no.test.yaml").write_text("dagflow_test: 1\n")
    from dagflow.service.testing.running import run_file

    refused = run_file(str(tmp_path / "no.test.yaml"))

    root = ET.fromstring(as_junit((found, refused)))

    assert dict(root.attrib) == {"name": "dagflow", "tests": "3", "failures": "1", "errors": "1"}
    assert [it.get("name") for it in root.iter("testcase")] == ["good", "bad <&>", "(file)"]
    failure = next(root.iter("failure"))
    assert failure.get("message") == "output `severity` differs"
    assert 'expected: "high"' in (failure.text or "")
    assert "has no `cases`" in str(next(root.iter("error")).get("message"))


def test_text_that_xml_can_t_carry_is_replaced(tmp_path: Path) -> None:
    name = 'cases: [{name: "a\\u0001\\u001b", expect: failed}]\n'

    assert ET.fromstring(as_junit((run(tmp_path, name),))) is not None


# ── coverage ──

EVERYTHING = """\
cases:
  - name: low
    expect: {}
  - name: high
    steps: {grade: {output: {severity: high}}}
    approvals: {ask: approve}
    expect: {}
"""


def test_what_no_case_comes_to_is_named_once(tmp_path: Path) -> None:
    found = run(tmp_path, TWO)

    (coverage,) = covered((found,)).values()

    assert coverage_text("desk", coverage) == "note: desk: not reached: route[0], ask, call\n"


def test_files_of_one_workflow_cover_it_together(tmp_path: Path) -> None:
    low, high = EVERYTHING.split("  - name: high")
    first, second = run(tmp_path, low), run(tmp_path, f"cases:\n  - name: high{high}")

    (coverage,) = covered((first, second)).values()

    assert coverage.missing == ()
    assert coverage.reached == coverage.total == 8
    assert coverage_text("desk", coverage) == ""


def test_parts_that_are_spared_are_not_named_and_told_when_they_are_reached(tmp_path: Path) -> None:
    spared = f"dagflow_test: 1\nnot_reached: [ask, call, 'route[0]', close]\n{COMMON}{TWO}"

    (coverage,) = covered((run(tmp_path, spared),)).values()

    assert coverage.missing == ()
    said = "note: desk: reached, though `not_reached` has it: close\n"
    assert coverage_text("desk", coverage) == said


HANDLED = """\
dagflow: 1
name: handled
inputs: {go: boolean}
steps:
  a:
    when: inputs.go
    shell: {argv: ["true"], parse: text}
    output: {schema: {type: string}}
    on_error: [{on: timeout, continue: late}, {on: user, goto: c}]
  b: {after: a, transform: '"b"'}
  c: {after: b, join: any, transform: '"c"'}
outputs: {b: '${{ steps.?b.output.orValue("") }}', c: '${{ steps.?c.output.orValue("") }}'}
"""


def test_guards_and_handlers_are_parts(tmp_path: Path) -> None:
    (tmp_path / "handled.yaml").write_text(HANDLED)
    head = "dagflow_test: 1\nworkflow: ./handled.yaml\ncases:\n"
    runs = "  - {name: runs, inputs: {go: true}, steps: {a: {error: user}}, expect: {}}\n"
    rests = "  - {name: rests, inputs: {go: false}, expect: {}}\n"
    late = "  - {name: late, inputs: {go: true}, steps: {a: {error: timeout}}, expect: {}}\n"

    def missing(*cases: str) -> tuple[str, ...]:
        found = run(tmp_path, head + "".join(cases))
        assert found.passed, found
        (coverage,) = covered((found,)).values()
        return coverage.missing

    assert missing(runs) == ("a when is false", "a.on_error[0]", "b")
    assert missing(runs, rests, late) == ()


# ── files ──


def test_a_word_means_a_test_file_a_workflow_s_or_a_folder_s(tmp_path: Path) -> None:
    for name in ("a.yaml", "a.test.yaml", "a.night.test.yaml", "ab.test.yaml", "in/b.test.yaml"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("")

    def named(*words: str) -> list[str]:
        return [Path(it).name for it in files_of([str(tmp_path / word) for word in words])]

    assert named("a.yaml") == ["a.night.test.yaml", "a.test.yaml"]
    assert named("ab.test.yaml", ".") == [
        "ab.test.yaml", "a.night.test.yaml", "a.test.yaml", "b.test.yaml",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("word", "said", "remedy"),
    [
        ("b.yaml", "b.yaml has no tests: there is no b.test.yaml beside it", "docs/testing.md"),
        ("empty", "there is no *.test.yaml in", "docs/testing.md"),
        ("b.yml", "b.yml: no such file", "did you mean"),
    ],
)
def test_a_word_that_means_no_test_is_refused(
    word: str, said: str, remedy: str, tmp_path: Path
) -> None:
    (tmp_path / "b.yaml").write_text("")
    (tmp_path / "empty").mkdir()

    with pytest.raises(UsageError) as refused:
        files_of([str(tmp_path / word)])

    assert said in refused.value.message
    assert remedy in refused.value.remedy


# ── the published schema ──


@pytest.mark.parametrize("body", [*GOOD, *LOOPS, *SIGNALS, *CHILDREN])
def test_the_schema_takes_what_the_reader_takes(body: str) -> None:
    root = compose(Source("x", body)).root
    assert root is not None
    value = {"dagflow_test": 1, "cases": [{"name": "it", **plain(root)}]}

    assert _schema().is_valid(value), list(_schema().iter_errors(value))


def test_the_schema_refuses_unknown_keys() -> None:
    for case in ({"name": "x"}, {"name": "x", "expect": {}, "steps": {"a": {"outptu": 1}}}):
        assert not _schema().is_valid({"dagflow_test": 1, "cases": [case]})


def _schema() -> jsonschema_rs.Draft7Validator:
    return jsonschema_rs.Draft7Validator(cases_schema())
