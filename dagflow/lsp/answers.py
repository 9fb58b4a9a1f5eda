"""Answers to an editor about one document: types, names to write, places, renaming."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from dagflow.compiler.model import Model, StepFacts
from dagflow.compiler.names.references import step_names
from dagflow.compiler.proofs.schemas import schema_at
from dagflow.compiler.source.places import scalars
from dagflow.compiler.types.words import describe
from dagflow.core.findings import Edit
from dagflow.core.records import dataclass
from dagflow.core.source import Span
from dagflow.core.steps import KINDS
from dagflow.core.values import Schema
from dagflow.expr.fields import known_names
from dagflow.expr.scope import step_view
from dagflow.expr.types import of_schema
from dagflow.lsp.document import Document
from dagflow.lsp.words import Word, typed_path, word_at

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")


@dataclass(frozen=True, slots=True)
class Choice:
    """A name that may be written, what it is, and its type in words."""

    label: str
    kind: str
    detail: str = ""


def hover(document: Document, line: int, column: int) -> tuple[str, Span] | None:
    """Return what is known of the word at a position, in Markdown, and the word's place."""
    word = word_at(document.source.text, line, column)
    model = document.model
    if word is None or model is None:
        return None
    schema = _schema(model, word.before, line)
    if schema is not None:
        return f"`{'.'.join(word.before)}`: {describe(schema)}", word.span
    step = _named(model, word.text)
    if step is not None:
        return f"step `{step.path}` ({step.kind}) gives {describe(step.output)}", word.span
    return None


def _schema(model: Model, path: tuple[str, ...], line: int) -> Schema | None:
    facts = _around(model, line)
    if path[0] == "steps" and len(path) == 2:  # noqa: PLR2004  # steps.<name>
        step = _named(model, path[1])
        return None if step is None else step_view(step.output, foreach=step.kind == "foreach")
    return schema_at(path, model, facts) if path[0] in {"steps", "inputs"} else None


def _around(model: Model, line: int) -> StepFacts | None:
    """Return the innermost step that a line stands in."""
    found = [s for s in model.steps() if s.step.span.line <= line <= s.step.span.end_line]
    return max(found, key=lambda s: s.path.count("."), default=None)


def _named(model: Model, name: str) -> StepFacts | None:
    return next((step for step in model.steps() if step.name == name), None)


def complete(document: Document, line: int, column: int) -> list[Choice]:
    """Return the names that may stand where somebody is writing."""
    text, model = document.source.text, document.model
    path = typed_path(text, line, column)
    head = text.split("\n")[line - 1][: column - 1]
    if model is None:
        return []
    if len(path) > 1:
        return list(_fields(model, path[:-1], line))
    if re.search(r"\btool:\s*[\w.-]*$", head):
        return list(_operations(document))
    if re.search(r"\b(after|then|else|goto|step):\s*\[?[\w, -]*$", head):
        return [Choice(step.name, "step", step.kind) for step in model.steps()]
    if re.match(r"\s+\w*$", head):
        return [Choice(kind, "kind") for kind in KINDS]
    return [Choice(name, "variable") for name in ("inputs", "steps", "run")]


def _fields(model: Model, path: tuple[str, ...], line: int) -> Iterator[Choice]:
    if path == ("steps",):
        yield from (Choice(s.name, "step", describe(s.output)) for s in model.steps())
        return
    if path == ("inputs",):
        fields = model.workflow.inputs.fields if model.workflow.inputs else ()
        yield from (Choice(f.name.value, "input", describe(f.type.schema)) for f in fields)
        return
    schema = _schema(model, path, line)
    for name in known_names(of_schema(schema)) if schema is not None else ():
        inner = _schema(model, (*path, name), line)
        yield Choice(name, "field", describe(inner) if inner is not None else "")


def _operations(document: Document) -> Iterator[Choice]:
    for tool_name, tool in document.catalog.tools.items():
        for name in tool.names:
            yield Choice(f"{tool_name}.{name}", "operation")


def definition(document: Document, line: int, column: int) -> Span | None:
    """Return where the step, input, tool or model at a position is declared."""
    word = word_at(document.source.text, line, column)
    model = document.model
    if word is None or model is None:
        return None
    if word.path[0] == "inputs" and word.index == 1:
        fields = model.workflow.inputs.fields if model.workflow.inputs else ()
        return next((f.name.span for f in fields if f.name.value == word.text), None)
    step = _named(model, word.text)
    if step is not None:
        return step.step.name.span
    tables = (*model.workflow.tools, *model.workflow.models)
    return next((name.span for name, _ in tables if name.value == word.text), None)


def rename(document: Document, line: int, column: int, name: str) -> tuple[Edit, ...]:
    """Return the edits that give the step at a position another name everywhere.

    None of them where there is no step, the new name can't be one, or it is taken.
    """
    word = word_at(document.source.text, line, column)
    if word is None or document.model is None or not _NAME.fullmatch(name):
        return ()
    step = _named(document.model, word.text)
    if step is None or not _is_step(word, step, line) or _named(document.model, name):
        return ()
    return tuple(Edit(span, name) for span in dict.fromkeys(_mentions(document, step)))


def _is_step(word: Word, step: StepFacts, line: int) -> bool:
    alone = len(word.path) == 1
    return (
        alone or (word.path[0] == "steps" and word.index == 1) or step.step.name.span.line == line
    )


def _mentions(document: Document, step: StepFacts) -> Iterator[Span]:
    """Yield every place of a step's name: its own, in edges, in expressions."""
    yield step.step.name.span
    workflow = document.workflow
    if workflow is None:
        return
    for other in document.model.steps() if document.model is not None else ():
        yield from (name.span for name in step_names(other) if name.value == step.name)
    pattern = re.compile(rf"\bsteps\.\??(`?)({re.escape(step.name)})\1(?![\w-])")
    for scalar in scalars(workflow.root):
        span = scalar.span
        for number in range(span.line, span.end_line + 1):
            text = document.source.line(number)
            begin = span.column - 1 if number == span.line else 0
            for found in pattern.finditer(text, begin):
                yield Span(number, found.start(2) + 1, number, found.end(2) + 1, span.file)
