"""Strings with `${{ … }}` in them: reading, checking and rendering.

`${{` begins an expression and the next `}}` outside of its strings and braces ends it; `$${{`
stands for the text `${{`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from dagflow.core.plan import Evaluated, Joined, Literal_, Value
from dagflow.core.records import dataclass
from dagflow.core.values import JsonObject, Schema
from dagflow.expr.check import Checked, check
from dagflow.expr.lexer import scan
from dagflow.expr.problem import Problem
from dagflow.expr.scope import Scope
from dagflow.expr.types import of_schema

OPEN, CLOSE, ESCAPED = "${{", "}}", "$${{"


@dataclass(frozen=True, slots=True)
class Segment:
    """One `${{ … }}`: the expression's text without the spaces around it.

    `offset` is the place of the text in the template, `start` and `end` those of the braces.
    """

    text: str
    offset: int
    start: int
    end: int


def has_expression(text: str) -> bool:
    """Tell whether a string needs reading as a template at all."""
    return OPEN in text


def parse_template(text: str) -> tuple[str | Segment, ...] | Problem:
    """Split a template into texts and expressions; a `Problem` where one is never closed."""
    parts: list[str | Segment] = []
    written = ""
    at = 0
    while (start := text.find(OPEN, at)) >= 0:
        if start > at and text[start - 1] == "$":
            written += text[at : start - 1] + OPEN
            at = start + len(OPEN)
            continue
        end = _closing(text, start + len(OPEN))
        if end is None:
            message = "`${{` is never closed by `}}`"
            help_ = "write `$${{` for the text `${{`"
            return Problem("expression-type", message, start, len(OPEN), help_)
        written += text[at:start]
        parts += [written] if written else []
        written, at = "", end + len(CLOSE)
        parts.append(_segment(text, start, end))
    rest = written + text[at:]
    return tuple([*parts, rest] if rest or not parts else parts)


def _segment(text: str, start: int, end: int) -> Segment:
    inside = text[start + len(OPEN) : end]
    offset = start + len(OPEN) + len(inside) - len(inside.lstrip())
    return Segment(inside.strip(), offset, start, end + len(CLOSE))


def _closing(text: str, at: int) -> int | None:
    """Return where the `}}` of an expression is, outside of its strings and braces."""
    depth = 0
    for token in scan(text, at):
        if token.text == "{":
            depth += 1
        elif token.text == "}":
            if depth == 0:
                return token.start if text.startswith(CLOSE, token.start) else None
            depth -= 1
        elif token.kind == "comment" and CLOSE in token.text and not depth:
            return token.start + token.text.index(CLOSE)
    return None


@dataclass(frozen=True, slots=True)
class CheckedPart:
    """One expression of a template, and the place of its text in the template."""

    checked: Checked
    offset: int


@dataclass(frozen=True, slots=True)
class CheckedTemplate:
    """A template without a mistake.

    `whole` tells that it is one `${{ … }}` and nothing else: its value keeps its type, and
    `result` is that of the expression; otherwise it is text. A template without expressions has
    one text part. `warnings` have their places in the template.
    """

    parts: tuple[str | CheckedPart, ...]
    whole: bool
    result: Schema
    warnings: tuple[Problem, ...] = ()

    @property
    def expressions(self) -> tuple[CheckedPart, ...]:
        """Return the expressions, in order."""
        return tuple(part for part in self.parts if isinstance(part, CheckedPart))

    def value(self, place: Callable[[int], tuple[int, int]] = lambda _: (1, 1)) -> Value:
        """Return what a plan stores; `place` gives the line and column of a template's offset."""
        if not self.expressions:
            return Literal_("".join(part for part in self.parts if isinstance(part, str)))
        parts = tuple(
            part if isinstance(part, str) else part.checked.expression(*place(part.offset))
            for part in self.parts
        )
        first = parts[0]
        if self.whole and not isinstance(first, str):
            return Evaluated(first)
        return Joined(parts)


def check_template(
    text: str, scope: Scope, *, expected: Schema | None = None
) -> CheckedTemplate | tuple[Problem, ...]:
    """Check every expression of a template; places are code points of the template."""
    found = parse_template(text)
    if isinstance(found, Problem):
        return (found,)
    whole = len(found) == 1 and isinstance(found[0], Segment)
    parts: list[str | CheckedPart] = []
    problems: list[Problem] = []
    for part in found:
        if isinstance(part, str):
            parts.append(part)
            continue
        checked = check(part.text, scope, expected=expected if whole else None)
        problems += _problems(checked, part, whole)
        if isinstance(checked, Checked):
            parts.append(CheckedPart(checked, part.offset))
    if problems:
        return tuple(problems)
    warnings = tuple(
        moved(warning, part.offset)
        for part in parts
        if isinstance(part, CheckedPart)
        for warning in part.checked.warnings
    )
    return CheckedTemplate(tuple(parts), whole, _result(tuple(parts), whole), warnings)


def _result(parts: tuple[str | CheckedPart, ...], whole: bool) -> Schema:
    first = parts[0] if parts else ""
    if whole and isinstance(first, CheckedPart):
        return first.checked.result
    text: JsonObject = {"type": "string"}
    return (
        {"const": "".join(p for p in parts if isinstance(p, str))}
        if all(isinstance(part, str) for part in parts)
        else text
    )


def _problems(checked: Checked | tuple[Problem, ...], part: Segment, whole: bool) -> list[Problem]:
    if not isinstance(checked, Checked):
        return [moved(problem, part.offset) for problem in checked]
    if whole or (problem := _not_text(checked)) is None:
        return []
    return [moved(problem, part.offset)]


def _not_text(checked: Checked) -> Problem | None:
    """Return the problem of a value that can't be written into text."""
    found = of_schema(checked.result)
    shown = " ".join(checked.text.split())
    help_ = f"write it as JSON: `json({shown})`" if len(shown) < 60 else "write it with `json(…)`"  # noqa: PLR2004
    if found.kinds and found.kinds <= {"list", "map", "null"}:
        message = f"`{shown}` is {found.words()}, which can't be written into text"
        return Problem("expression-type", message, 0, len(checked.text), help_)
    if found.nullable:
        message = f"`{shown}` may be null here, which can't be written into text"
        help_ = "choose with `? :` what to write instead, or write it with `json(…)`"
        return Problem("maybe-null", message, 0, len(checked.text), help_)
    return None


def moved(problem: Problem, offset: int) -> Problem:
    """Return the problem with its places moved by `offset`."""
    fix = problem.fix
    shifted = None if fix is None else (fix[0] + offset, fix[1], fix[2])
    return replace(problem, offset=problem.offset + offset, fix=shifted)
