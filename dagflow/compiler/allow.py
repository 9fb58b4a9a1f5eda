"""Comments that allow a finding: `# dagflow: allow NAME — reason`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final

from dagflow.compiler.rule import Allowance
from dagflow.compiler.source.places import scalars
from dagflow.core.findings import Finding, Severity
from dagflow.core.node import Node
from dagflow.core.source import Source, Span

_COMMENT: Final = re.compile(
    r"(?:^|(?<=[ \t]))#[ \t]*dagflow:[ \t]*allow[ \t]+(?P<name>[\w-]+)(?P<rest>[^\r\n]*)",
    re.MULTILINE,
)
_DASHES: Final = " \t—–-:"


def allowances_of(source: Source, root: Node | None) -> tuple[Allowance, ...]:
    """Return the file's allowances in order; text of scalars that looks like one is none."""
    if root is None or "dagflow:" not in source.text:
        return ()
    inside = _text_lines(root)
    found = []
    for match in _COMMENT.finditer(source.text):
        line = source.text.count("\n", 0, match.start()) + 1
        column = match.start() - source.text.rfind("\n", 0, match.start())
        if not inside.get(line, 0) > column:
            span = Span(line, column, line, column + len(match.group()), source.name)
            found.append(Allowance(match["name"], _reason(match["rest"]), span))
    return tuple(found)


def _reason(rest: str) -> str:
    return re.split(r"\s#", rest, maxsplit=1)[0].strip(_DASHES)


def _text_lines(root: Node) -> Mapping[int, int]:
    """Return for each line that ends inside a text where on it that text ends."""
    found: dict[int, int] = {}
    for scalar in scalars(root):
        span = scalar.span
        for line in range(span.line, span.end_line):
            found[line] = 1 << 30
        found[span.end_line] = max(found.get(span.end_line, 0), span.end_column)
    return found


def is_allowed(finding: Finding, allowances: Iterable[Allowance]) -> bool:
    """Tell whether a comment with a reason allows the finding."""
    return any(speaks_for(allowance, finding) and allowance.reason for allowance in allowances)


def speaks_for(allowance: Allowance, finding: Finding) -> bool:
    """Tell whether a comment is about the finding: same rule, and its line or the line before."""
    near = finding.span.line - allowance.span.line in {0, 1}
    return near and allowance.name == finding.name and finding.severity is not Severity.ERROR
