"""The page of a report: every way on it leads somewhere, and nothing of a file is markup."""

from __future__ import annotations

from html.parser import HTMLParser

from dagflow.compiler.report.html import render
from dagflow.core.source import Source
from tests.rules.compiling import compiled

HOSTILE = """\
dagflow: 1
name: hostile
description: "<script>alert(1)</script>"
inputs: {n: {type: integer, minimum: 0}, word: {enum: ["<b>", "</table>"]}}
models: {default: {route: local}}
steps:
  first:
    when: inputs.n < 5
    transform: "{'</td>': inputs.word}"
  ask:
    after: [{step: first, on: done}]
    llm: {prompt: "<img src=x onerror=alert(1)> ${{ inputs.word }}", max_tokens: 20}
    timeout: 30s
  same: {transform: inputs.n + 1}
  equal: {transform: inputs.n + 1}
outputs:
  text: ${{ steps.ask.output.text }}
  sum: ${{ steps.same.output + steps.equal.output }}
"""


class _Page(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.ways: list[str] = []
        self.tags: set[str] = set()
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.tags.add(tag)
        self.ids += [value for name, value in attrs if name == "id" and value]
        if tag == "a":
            self.ways.append(found["href"] or "")

    def handle_data(self, data: str) -> None:
        self.text += data


def page_of(text: str) -> _Page:
    report = compiled(text).report
    return _Page(render(report, Source("test.yaml", text), about="<script>"))


def test_every_way_on_the_page_leads_to_one_place() -> None:
    page = page_of(HOSTILE)

    assert len(page.ids) == len(set(page.ids))
    assert len(page.ways) == 3
    assert {way.removeprefix("#") for way in page.ways} <= set(page.ids)


def test_nothing_of_a_file_is_markup() -> None:
    page = page_of(HOSTILE)

    assert not page.tags & {"script", "img", "b"}
    assert '{</td>: "<b>" | "</table>"}' in page.text


def test_every_step_has_its_type_its_bounds_and_whether_it_is_on_the_longest_way() -> None:
    page = page_of(HOSTILE)

    assert "no bound" not in page.text.partition("Steps")[2].partition("test.yaml")[0]
    assert "30 s20" in page.text  # the time and the tokens of `ask`
    assert "critical" in page.text
    assert "merged into 'same'" in page.text


def test_refused_workflow_has_findings_and_no_table_of_steps() -> None:
    page = page_of(HOSTILE.replace("steps.ask.output.text", "steps.asks.output.text"))

    assert "F1" in page.ids
    assert "effects" not in page.text
