"""Credentials of tools and models: templates whose only expressions are `secrets.<NAME>`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from dagflow.compiler.source.places import place_of
from dagflow.core.node import Mapping as MappingNode
from dagflow.core.node import Node, Scalar
from dagflow.core.references import reference
from dagflow.core.source import Source, Span
from dagflow.core.values import JsonValue
from dagflow.core.words import nearest
from dagflow.core.workflow import Workflow

_EXPRESSION: Final = re.compile(r"\$\$\{\{|\$\{\{(.*?)\}\}", re.DOTALL)
_SECRET: Final = re.compile(r"\s*secrets\.`?([A-Za-z_][\w-]*)`?\s*")


def rendered(node: Node) -> JsonValue:
    """Return the credential as JSON, with references for secrets; it must have been checked."""
    if isinstance(node, Scalar):
        return _text(node.value) if isinstance(node.value, str) else node.value
    if isinstance(node, MappingNode):
        return {str(key.value): rendered(value) for key, value in node.entries}
    return [rendered(item) for item in node.items]


def _text(text: str) -> str:
    return _EXPRESSION.sub(_replaced, text)


def _replaced(found: re.Match[str]) -> str:
    secret = _SECRET.fullmatch(found.group(1) or "")
    return reference(secret.group(1)) if secret else "${{"


def credentials(workflow: Workflow) -> Iterator[Node]:
    """Yield every credential of the workflow."""
    yield from (tool.auth for _, tool in workflow.tools if tool.auth is not None)
    yield from (model.api_key for _, model in workflow.models if model.api_key is not None)


def secrets_in(node: Node, source: Source) -> Iterator[tuple[str, Span]]:
    """Yield each expression of a credential: the secret's name ("" when it is none) and place."""
    if not isinstance(node, Scalar):
        items = [v for _, v in node.entries] if isinstance(node, MappingNode) else node.items
        for item in items:
            yield from secrets_in(item, source)
        return
    if not isinstance(node.value, str):
        return
    for found in _EXPRESSION.finditer(node.value):
        if found.group(1) is None:
            continue
        secret = _SECRET.fullmatch(found.group(1))
        start, end = secret.span(1) if secret else (0, len(found.group(1)))
        offset = found.start(1) + start
        place = place_of(node, offset, source, length=max(end - start, 1))
        yield (secret.group(1) if secret else ""), place


def unknown_secret(name: str, known: tuple[str, ...]) -> str:
    """Return the message for a secret that isn't declared."""
    return f"no secret is named {name!r}{nearest(name, known)}"
