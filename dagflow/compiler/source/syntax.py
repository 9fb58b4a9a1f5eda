"""What libyaml's complaints mean to an author: a message, and what to do about it."""

from __future__ import annotations

import re

from dagflow.core.findings import Related
from dagflow.core.records import dataclass
from dagflow.core.source import Span

QUOTE = "write the value in quotes"
TEMPLATE = 'write the whole value in quotes: "${{ … }}"'

TABLE: tuple[tuple[str, str, str], ...] = (
    ("mapping values are not allowed", "a `:` stands where no key can end",
     "put the value in quotes if the `: ` belongs to its text; else check the indentation"),
    ("did not find expected key", "this line is neither a key of the mapping nor part of a value",
     "check the indentation, and close every quote and bracket before it"),
    ("did not find expected '-' indicator", "this line is no item of the list",
     "begin it with `- `, or indent it like the key it belongs to"),
    ("did not find expected ',' or ']'", "the list has no `,` or `]` here",
     "close the list with `]`, and put items with special characters in quotes"),
    ("did not find expected ',' or '}'", "the mapping has no `,` or `}` here",
     "close the mapping with `}`, and put values with special characters in quotes"),
    ("could not find expected ':'", "a key has no `:` after it",
     "write `key: value`, and quote a text that goes on over several lines"),
    ("found unexpected end of stream", "the file ends inside a quoted text", "close the quote"),
    ("found unexpected document indicator", "`---` or `...` stands inside a quoted text",
     "close the quote"),
    ("found unknown escape character", "this is no escape of a double-quoted text",
     r"write the backslash twice, or use single quotes"),
    ("found invalid Unicode character escape code", "this escape names no character",
     r"write a character beyond U+FFFF as it is, or as \UXXXXXXXX, not as two surrogates"),
    ("did not find expected hexdecimal number", "an escape has too few hexadecimal digits",
     r"write \xXX, \uXXXX or \UXXXXXXXX"),
    ("found a tab character", "a tab stands where YAML counts spaces", "indent with spaces"),
    ("found undefined tag handle", "the tag is not one of YAML's core schema", "remove the tag"),
    ("block sequence entries are not allowed", "a list can't begin here",
     "begin the list on the next line"),
    ("mapping keys are not allowed", "a `?` key can't stand here", QUOTE),
    ("block collections are not allowed", "a block can't begin here", "begin it on the next line"),
    ("found an indentation indicator equal to 0", "a block can't have the indent 0",
     "leave the number out, or write 1 to 9"),
    ("did not find expected comment or line break", "only a comment may stand here",
     "begin the text of a block on the next line"),
    ("did not find expected alphabetic or numeric character", "the anchor or alias has no name",
     "write `&name` or `*name` with letters and digits, or put the text in quotes"),
    ("did not find expected node content", "there is no value here",
     "write a value, or remove the `,`"),
    ("found unexpected ':'", "a `:` stands inside a text between brackets", QUOTE),
    ("did not find expected <document start>", "the text goes on after the document has ended",
     "keep one document in a file, and check the indentation of this line"),
    ("could not find expected directive name", "a line can't begin with `%` here", QUOTE),
    ("exceeded", "it is nested too deep", "keep it flatter than 64 levels"),
)  # fmt: skip
START = "found character that cannot start any token"
STARTERS = {
    "\t": ("a tab stands where YAML counts spaces", "indent with spaces"),
    "@": ("a text can't begin with `@`", QUOTE),
    "`": ("a text can't begin with a backtick", QUOTE),
    "%": ("a text can't begin with `%`", QUOTE),
}


@dataclass(frozen=True, slots=True)
class Complaint:
    """What is wrong, where, what to do about it, and where it began."""

    message: str
    span: Span
    remedy: str
    related: tuple[Related, ...]


def complaint(
    text: str,
    file: str,
    *,
    problem: str,
    at: tuple[int, int],
    context: str,
    begun: tuple[int, int] | None,
) -> Complaint:
    """Turn libyaml's words into ours; places are given as (line, column) from 0."""
    lines = text.split("\n")
    last = len(lines) - 2  # the text ends with a line break
    line, column = at if at[0] <= last else (last, len(lines[last]))
    message, remedy = explain(problem, lines[line], column)
    said = opened(context)
    related = (Related(said, single(*begun, file)),) if begun is not None and said else ()
    return Complaint(message, single(line, column, file), remedy, related)


def explain(problem: str, line: str, column: int) -> tuple[str, str]:
    """Return (message, help) for libyaml's `problem` at 0-based `column` of `line`."""
    if START in problem:
        char = line[column : column + 1]
        return STARTERS.get(char, (f"a value can't begin with {char!r}", QUOTE))
    if "\t" in line[: len(line) - len(line.lstrip())] and "quoted" not in problem:
        return STARTERS["\t"]
    if line[column : column + 1] == ":" and "expected key" in problem:
        return "the key before this `:` is empty", "keys are text: write one"
    message, remedy = next(
        ((text, remedy) for key, text, remedy in TABLE if key in problem),
        (problem, "see docs/yaml.md for what a file may hold"),
    )
    return message, TEMPLATE if _bare_template(line, column) else remedy


def _bare_template(line: str, column: int) -> bool:
    """Tell whether an unquoted `${{ … }}` is likely what confused the parser here."""
    return any(
        found.start() <= column <= found.end() and line[found.start() - 1 : found.start()] != '"'
        for found in re.finditer(r"\$\{\{.*?(?:\}\}|$)", line)
    )


def opened(context: str) -> str:
    """Return what the related place of a complaint is, or "" when it says nothing."""
    words = {
        "flow mapping": "the mapping was opened here",
        "flow sequence": "the list was opened here",
        "quoted scalar": "the text was opened here",
        "block mapping": "the mapping begins here",
        "block collection": "the list begins here",
    }
    return next((text for key, text in words.items() if key in context), "")


def single(line: int, column: int, file: str, width: int = 1) -> Span:
    """Return the place of `width` characters of one line, given 0-based."""
    return Span(line + 1, column + 1, line + 1, column + 1 + width, file)
