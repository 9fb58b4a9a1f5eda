"""The JSON Pointer of a finding names the part of the document that the finding is in.

The documents are read here by PyYAML's own composer, so that ours can't be wrong unnoticed.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from dagflow.core.findings import Finding
from dagflow.service.bundle import read_bundle
from dagflow.service.check import check
from tests.golden.test_faulty import FILES
from tests.rules.compiling import compiled, told

REPORTS = Path(__file__).parent / "reports"
WORKFLOWS = Path(__file__).parents[2] / "workflows"
WHOLE = sorted(
    path
    for folder in (REPORTS, WORKFLOWS)
    for path in folder.glob("*.yaml")
    if ".openapi." not in path.name
)

Place = tuple[int, int]
Part = tuple[Place, Place, yaml.Node]
"""Where a part begins, its key included, where it ends, and its value."""


def place(mark: yaml.Mark) -> Place:
    return mark.line + 1, mark.column + 1


def parts(text: str, pointer: str) -> list[Part]:
    """Return the parts that a pointer names: none, one, or the values of a key written twice."""
    root = next(yaml.compose_all(text, Loader=yaml.CSafeLoader))
    found: list[Part] = [((1, 1), (len(text), 1), root)]
    for word in pointer.split("/")[1:]:
        name = word.replace("~1", "/").replace("~0", "~")
        found = [inner for _, _, node in found for inner in _inside(node, name)]
    return found


def _inside(node: yaml.Node, name: str) -> Iterator[Part]:
    if isinstance(node, yaml.SequenceNode):
        item = node.value[int(name)]
        yield place(item.start_mark), place(item.end_mark), item
    elif isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if key.value == name:
                end = max(place(key.end_mark), place(value.end_mark))
                yield place(key.start_mark), end, value


def misplaced(text: str, findings: tuple[Finding, ...] | list[Finding]) -> list[str]:
    """Return the findings whose pointer names no part, or one that they aren't in."""
    return [
        f"{found.code} {found.span.line}:{found.span.column} {found.path}"
        for found in findings
        if not any(
            begin <= (found.span.line, found.span.column) <= end
            for begin, end, _ in parts(text, found.path)
        )
    ]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_finding_is_in_the_part_that_its_pointer_names(path: Path) -> None:
    text = path.read_text()

    findings = compiled(text, path.name).report.findings

    assert not misplaced(text, findings)


@pytest.mark.parametrize("path", WHOLE, ids=lambda path: path.stem)
def test_so_it_is_with_the_tools_of_its_own(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(path.parent)

    findings = check(read_bundle(path.name)).report.findings

    assert not misplaced(path.read_text(), findings)


STEPS = """
t: {transform: 'inputs.n + "a"'}
l: {llm: {prompt: "${{ inputs.zz }}"}, with: {a: ["${{ inputs.zz }}"]}}
m: {llm: {messages: [{role: user, content: "${{ inputs.zz }}"}]}}
s: {switch: [{when: inputs.n + 1, then: end}]}
f: {foreach: {items: "7", max_items: 2, steps: {e: {transform: inputs.zz}}}}
r: {repeat: {max: 2, until: "1", collect: inputs.zz, steps: {b: {transform: turn.x}}}}
h: {shell: ["a", "${{ inputs.zz }}"], on_error: [{continue: "${{ inputs.zz }}"}]}
w: {wait: {until: "${{ inputs.zz }}"}}
c: {python: "def main(): pass", compensate: {transform: inputs.zz}}
a: {approve: {message: "${{ inputs.zz }}", expires: 1m}}
i: {when: inputs.zz, after: nobody, fail: no}
"""

POINTERS = (
    "/steps/t/transform",
    "/steps/l/llm/prompt",
    "/steps/l/with/a/0",
    "/steps/m/llm/messages/0/content",
    "/steps/s/switch/0/when",
    "/steps/f/foreach/items",
    "/steps/f/foreach/steps/e/transform",
    "/steps/r/repeat/until",
    "/steps/r/repeat/collect",
    "/steps/r/repeat/steps/b/transform",
    "/steps/h/shell/1",
    "/steps/h/on_error/0/continue",
    "/steps/w/wait/until",
    "/steps/c/compensate/transform",
    "/steps/a/approve/message",
    "/steps/i/when",
    "/steps/i/after",
    "/outputs/o/k~1~0k",
)


def test_pointers_are_made_of_the_keys_that_the_file_has() -> None:
    body = "".join(f"  {line}\n" for line in STEPS.strip().splitlines())
    head = "dagflow: 1\nname: w\ninputs: {n: integer}\n"
    text = f'{head}steps:\n{body}outputs:\n  o: {{"k/~k": "${{{{ inputs.zz }}}}"}}\n'

    assert tuple(dict.fromkeys(finding.path for finding in told(text))) == POINTERS
