"""Short ways to read YAML in these tests."""

from __future__ import annotations

from dagflow.compiler.source.parse import Parsed, parse
from dagflow.compiler.source.yaml import compose
from dagflow.core.findings import Finding, Severity
from dagflow.core.node import Node, plain
from dagflow.core.source import Source
from dagflow.core.values import JsonValue
from dagflow.core.workflow import Step

HEAD = "dagflow: 1\nname: w\n"


def source(text: str) -> Source:
    return Source("w.yaml", text)


def tree(text: str) -> Node:
    composed = compose(source(text))
    assert composed.findings == ()
    assert composed.root is not None
    return composed.root


def value(text: str) -> JsonValue:
    return plain(tree(text))


def errors(text: str) -> tuple[Finding, ...]:
    return tuple(it for it in compose(source(text)).findings if it.severity is Severity.ERROR)


def one_error(text: str) -> Finding:
    found = errors(text)
    assert len(found) == 1, [it.message for it in found]
    assert found[0].code == "DF001"
    return found[0]


def workflow(text: str) -> Parsed:
    return parse(source(text))


def steps(block: str) -> str:
    """Return a workflow whose `steps` are this block, indented by two here."""
    return HEAD + "steps:\n" + "".join(f"  {line}\n" for line in block.splitlines())


def step(body: str) -> str:
    """Return a workflow with one step `a` of this body."""
    return steps("a:\n" + "".join(f"  {line}\n" for line in body.splitlines()))


def read_step(body: str) -> Step:
    parsed = workflow(step(body))
    assert parsed.findings == (), [it.message for it in parsed.findings]
    assert parsed.workflow is not None
    return parsed.workflow.steps[0]


def place(found: Finding) -> tuple[int, int]:
    return found.span.line, found.span.column


def under(found: Finding, text: str) -> str:
    """Return the text that a finding on one line points at."""
    line = source(text).line(found.span.line)
    return line[found.span.column - 1 : found.span.end_column - 1]
