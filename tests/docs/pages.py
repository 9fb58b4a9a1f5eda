"""What the pages for users show, taken apart: their workflows, and what they say of them.

Every ```yaml block that begins with `dagflow: 1` is a workflow. Comments, which a reader of the
page doesn't see, say more of the block that follows them:

    <!-- file: NAME -->                    the block is a file beside the workflows after it
    <!-- run: {"input": 1} -->             the outputs of the last workflow with these inputs
    <!-- checked as NAME: OLD => NEW -->   how the report on the last workflow begins, with a change
    <!-- tested: OLD => NEW -->            how the results of its tests begin, with a change

A ```yaml block that begins with `dagflow_test: 1` is the tests of the last workflow.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([ROOT / "README.md", ROOT / "ARCHITECTURE.md", *(ROOT / "docs").rglob("*.md")])

BLOCK = re.compile(
    r"(?:<!-- (?P<said>[^\n]*?) -->\n+)?"
    r"(?:^```(?P<kind>\w*)\n(?P<fenced>.*?)^```$|(?P<indented>(?:^    [^\n]*\n|^\n(?=    ))+))",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True)
class Report:
    """How the report on a file begins, once a text of the workflow is another."""

    name: str
    old: str
    new: str
    shown: str


@dataclass(frozen=True)
class Example:
    """A workflow of a page with the files beside it, and what the page says comes of it."""

    page: str
    line: int
    text: str
    files: dict[str, str] = field(default_factory=dict)
    runs: list[tuple[str, str]] = field(default_factory=list)
    reports: list[Report] = field(default_factory=list)
    tests: list[str] = field(default_factory=list)
    results: list[Report] = field(default_factory=list)

    @property
    def id(self) -> str:
        return f"{self.page}:{self.line}"


def examples(page: Path) -> Iterator[Example]:
    """Yield the workflows of a page in their order."""
    text = page.read_text()
    files: dict[str, str] = {}
    last: Example | None = None
    for block in BLOCK.finditer(text):
        said = block["said"] or ""
        body = block["fenced"] or "".join(
            line.removeprefix("    ")
            for line in (block["indented"] or "").splitlines(keepends=True)
        )
        if said.startswith("file: "):
            files[said.removeprefix("file: ")] = body
        if said.startswith("run: "):
            assert last is not None, f"{page.name}: {said} has no workflow before it"
            last.runs.append((said.removeprefix("run: "), body))
        elif found := re.fullmatch(r"checked as (\S+): (.+) => (.+)", said):
            assert last is not None, f"{page.name}: {said} has no workflow before it"
            last.reports.append(Report(found[1], found[2], found[3], body))
        elif found := re.fullmatch(r"tested: (.+) => (.+)", said):
            assert last is not None, f"{page.name}: {said} has no workflow before it"
            last.results.append(Report("", found[1], found[2], body))
        if block["kind"] == "yaml" and body.startswith("dagflow_test: 1\n"):
            assert last is not None, f"{page.name}: tests have no workflow before them"
            last.tests.append(body)
        if block["kind"] == "yaml" and body.startswith("dagflow: 1\n"):
            if last is not None:
                yield last
            name = page.relative_to(ROOT).as_posix()
            line = text.count("\n", 0, block.start("fenced"))
            last = Example(name, line, body, dict(files))
    if last is not None:
        yield last


EXAMPLES = [example for page in PAGES for example in examples(page)]


def links(page: Path) -> Iterator[str]:
    """Yield the targets of a page's links that are files of the repository."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"`[^`\n]*`", "", text)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if not re.match(r"[a-z]+:|#", target):
            yield target.partition("#")[0]
