"""Every command that a page, a message or a help text names is there, with the options named."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import click
import pytest

from dagflow.cli import root
from tests.docs.pages import BLOCK, PAGES, ROOT

QUOTED = re.compile(r"`([^`]+)`")
AT_THE_END = re.compile(r"(?:^|: )dagflow ((?!reads )[a-z][^;`]*)$")
"""In messages a command that is to be typed is all there is, or the last, without quotes."""
TYPED = re.compile(r"(?:^|[\s;|])dagflow ([a-z][^#;\n]*)")


def quoted(text: str) -> Iterator[str]:
    """Yield the commands between backticks; pairs of those end with a paragraph."""
    for paragraph in re.split(r"\n\s*\n", text):
        for span in QUOTED.findall(paragraph):
            yield from TYPED.findall(" ".join(span.split()))


def page_names(text: str) -> Iterator[str]:
    """Yield the commands that a page names, without their first word."""
    for block in BLOCK.finditer(text):
        if block["kind"] in {None, "", "sh"}:
            yield from TYPED.findall(block["fenced"] or block["indented"] or "")
    yield from quoted(re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL))


def text_names(text: str) -> Iterator[str]:
    """Yield the commands that a text of the code names."""
    yield from quoted(text)
    yield from AT_THE_END.findall(text)


def texts(source: str) -> Iterator[str]:
    """Yield every text of a module: messages, remedies, help, with `X` for what is filled in."""
    tree = ast.parse(source)
    parts = {
        id(part) for it in ast.walk(tree) if isinstance(it, ast.JoinedStr) for part in it.values
    }
    for found in ast.walk(tree):
        if isinstance(found, ast.JoinedStr):
            yield "".join(
                str(part.value) if isinstance(part, ast.Constant) else "X" for part in found.values
            )
        elif isinstance(found, ast.Constant) and id(found) not in parts:
            yield found.value if isinstance(found.value, str) else ""


def named() -> Iterator[tuple[str, str]]:
    """Yield each command that is named, and where."""
    for page in PAGES:
        for words in page_names(page.read_text("utf-8")):
            yield page.relative_to(ROOT).as_posix(), " ".join(words.split())
    for file in sorted((ROOT / "dagflow" / "cli" / "starter").iterdir()):
        for words in TYPED.findall(file.read_text("utf-8")):
            yield file.relative_to(ROOT).as_posix(), words.partition(" > ")[0]
    for module in sorted((ROOT / "dagflow").rglob("*.py")):
        for text in texts(module.read_text("utf-8")):
            for words in text_names(text):
                yield module.relative_to(ROOT).as_posix(), " ".join(words.split())


NAMED = sorted(set(named()))


def wrong(words: str) -> str:
    """Return what is wrong with a command, "" where it is as the command line has it."""
    command: click.Command = root
    context = click.Context(root)
    group: click.Group | None = None
    for word in words.split():
        if word in {"…", "·", "|"}:
            command = group if word == "·" and group is not None else command
            continue
        if word.startswith("-"):
            known = {name for it in command.get_params(context) for name in it.opts}
            if word.partition("=")[0] not in known:
                return f"{command.name} has no option {word}"
        elif isinstance(command, click.Group):
            group, found = command, command.get_command(context, word)
            if found is None:
                return f"{command.name} has no command {word}"
            command = found
    return ""


@pytest.mark.parametrize(("where", "words"), NAMED, ids=" ".join)
def test_a_command_that_is_named_exists(where: str, words: str) -> None:
    assert wrong(words) == "", where


def remedies(source: str) -> Iterator[str]:
    """Yield what a module's errors say is to be done."""
    for found in ast.walk(ast.parse(source)):
        match found:
            case ast.keyword("remedy", value) | ast.Assign([ast.Name("remedy")], value):
                yield " ".join(texts(ast.unparse(value)))


def every_option(command: click.Command) -> Iterator[str]:
    """Yield the options of a command and of those in it."""
    context = click.Context(command)
    yield from (name for it in command.get_params(context) for name in it.opts)
    if not isinstance(command, click.Group):
        return
    for name in command.list_commands(context):
        found = command.get_command(context, name)
        assert found is not None
        yield from every_option(found)


def test_options_that_remedies_name_exist() -> None:
    known = set(every_option(root))
    named_ = {
        option
        for module in (ROOT / "dagflow").rglob("*.py")
        for remedy in remedies(module.read_text("utf-8"))
        for option in re.findall(r"(?<![\w-])--[a-z][a-z-]*", remedy)
    }

    assert {"--port", "--yes", "--input"} <= named_
    assert named_ <= known


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ("runs settle RUN STEP --done | --not-done", ""),
        ("runs ls · show · recover", ""),
        ("db upgrade", "root has no command db"),
        ("runs settel", "runs has no command settel"),
        ("run FILE --inputs=x --htm", "run has no option --htm"),
        ("runs ls · shwo", "runs has no command shwo"),
    ],
)
def test_a_wrong_command_is_found(words: str, why: str) -> None:
    assert wrong(words) == why


def test_pages_and_messages_name_commands() -> None:
    places = {where for where, _ in NAMED}
    assert {"README.md", "docs/llm.md", "docs/language.md", "dagflow/cli/following.py"} <= places
    assert ("dagflow/service/plans.py", "plan FILE -o plan.json") in NAMED
    assert ("dagflow/cli/showing.py", "runs settle X X --done | --not-done") in NAMED
