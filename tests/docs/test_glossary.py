"""One word for one idea: the glossary's words, and nowhere the words that it turns down."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.pages import PAGES, ROOT

GLOSSARY = (ROOT / "docs" / "glossary.md").read_text()
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in GLOSSARY.splitlines()
    if line.startswith("| ") and not line.startswith(("| ---", "| word "))
]
BANNED = {word for row in ROWS if len(row) == 3 for word in row[2].split(", ") if word}
RIGHT = {row[0] for row in ROWS if len(row) == 2}

CODE = {
    # where a banned word is part of a name and right, by the folder or file under dagflow/
    "node": r"compiler/|core/|expr/|tools/|service/drawings|executor/machine",
    "task": r"executor/|llm/",
    "condition": r"compiler/",
    "flow": r"tools/security|tools/auth/|compiler/|core/findings",
}
TEXT = {
    # the lines of pages in which a banned word is right
    "node": r"YAML|schema nodes",
    "condition": r"switch|branch|loop|move|`guard` in a|condition first|(one|same) condition",
    "job": r"cron job|do a job",
    "flow": r"secret-flow|data flow|codeFlow",
}


def names_in(file: Path) -> Iterator[str]:
    """Yield the names that a module gives: its own, of functions, classes, variables, fields."""
    yield file.stem
    for found in ast.walk(ast.parse(file.read_text())):
        match found:
            case ast.FunctionDef(name) | ast.AsyncFunctionDef(name) | ast.ClassDef(name):
                yield name
            case ast.arg(name):
                yield name
            case ast.Name(name, ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                yield name


def words_of(name: str) -> set[str]:
    """Return the words of an identifier, lower case and singular."""
    words = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)
    return {word.lower().removesuffix("s") for word in words}


CODES = sorted((ROOT / "dagflow").rglob("*.py"))


def test_no_name_in_the_code_has_a_banned_word() -> None:
    found = [
        f"{file.relative_to(ROOT)}: {name} ({word})"
        for file in CODES
        for name in set(names_in(file))
        for word in BANNED & words_of(name)
        if not re.match(CODE.get(word, "$"), file.relative_to(ROOT / "dagflow").as_posix())
    ]

    assert found == []


SPOKEN = [page for page in PAGES if page.name != "glossary.md"]  # the page that names them


@pytest.mark.parametrize("page", SPOKEN, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_no_page_has_a_banned_word(page: Path) -> None:
    text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    found = [
        f"{number}: {word}"
        for number, line in enumerate(text.splitlines(), start=1)
        for word in BANNED
        if re.search(rf"\b{word}s?\b", line, re.IGNORECASE)
        and not (word in TEXT and re.search(TEXT[word], line))
    ]

    assert found == []


def test_exceptions_are_named_in_the_glossary() -> None:
    assert {"task", "node", "job", "execution", "condition", "issue"} <= BANNED
    assert set(CODE) | set(TEXT) == RIGHT
    assert RIGHT <= BANNED
