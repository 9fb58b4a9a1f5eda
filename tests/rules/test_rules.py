"""Each rule's page is its test: `Bad` must give what its comments say, `Good` nothing.

A comment `# DF101: message` marks a finding of its line; a message that ends with … is only the
beginning of the finding's.
"""

from __future__ import annotations

import pkgutil
import re
import textwrap
from importlib import import_module

import pytest

from dagflow.compiler import explain, rules
from dagflow.compiler.rule import STAGES, Rule
from dagflow.core.findings import Severity
from tests.rules.compiling import told

BLOCK = re.compile(r"^ *(Bad|Good):\n\n(.*?)(?=^ *(?:Bad|Good):|\Z)", re.MULTILINE | re.DOTALL)
MARK = re.compile(r"# (DF\d{3}): (.+)")


def page(rule: Rule) -> str:
    return textwrap.dedent("    " + rule.doc)


EXAMPLES = [
    pytest.param(rule, kind, textwrap.dedent(body), id=f"{rule.code}-{kind.lower()}-{i}")
    for rule in rules.ALL
    for i, (kind, body) in enumerate(BLOCK.findall(page(rule)))
]


@pytest.mark.parametrize(("rule", "kind", "source"), EXAMPLES)
def test_example(rule: Rule, kind: str, source: str) -> None:
    expected = [
        (number, *mark.groups())
        for number, line in enumerate(source.splitlines(), start=1)
        for mark in MARK.finditer(line)
    ]

    found = [(f.span.line, f.code, f.message) for f in told(source)]

    assert [as_marked(each, expected) for each in sorted(found)] == expected
    assert (rule.code in {code for _, code, _ in found}) == (kind == "Bad")


def as_marked(
    found: tuple[int, str, str], expected: list[tuple[int, str, str]]
) -> tuple[int, str, str]:
    """Cut a message to the beginning that a mark gives, where one does."""
    line, code, message = found
    for number, marked, text in expected:
        short = text.removesuffix("…").rstrip()
        if (number, marked) == (line, code) and text != short and message.startswith(short):
            return (line, code, text)
    return found


@pytest.mark.parametrize("rule", rules.ALL, ids=lambda rule: rule.code)
def test_page_shows_both_sides_and_begins_with_a_sentence(rule: Rule) -> None:
    assert {kind for kind, _ in BLOCK.findall(page(rule))} == {"Bad", "Good"}
    assert rule.doc.strip().splitlines()[0].endswith(".")


@pytest.mark.parametrize("rule", rules.ALL, ids=lambda rule: rule.code)
def test_name_is_kebab_and_says_what_is_wrong(rule: Rule) -> None:
    banned = ("disallow", "forbid", "prefer", "require", "must", "should")

    assert re.fullmatch(r"[a-z]+(-[a-z]+)*", rule.name)
    assert not rule.name.startswith(banned)
    assert re.fullmatch(r"DF\d{3}", rule.code)
    assert rule.stage in STAGES
    assert isinstance(rule.severity, Severity)


@pytest.mark.parametrize("rule", rules.ALL, ids=lambda rule: rule.code)
def test_code_and_name_explain_the_rule(rule: Rule) -> None:
    assert explain(rule.code) is rule
    assert explain(rule.name) is rule
    assert explain(rule.code.lower()) is rule


def test_every_file_is_registered() -> None:
    found = [
        value
        for module in pkgutil.walk_packages(rules.__path__, f"{rules.__name__}.")
        if not module.ispkg
        for value in vars(import_module(module.name)).values()
        if isinstance(value, Rule)
    ]

    assert sorted(rules.ALL, key=lambda r: r.code) == sorted(found, key=lambda r: r.code)


def test_codes_are_sorted_unique_and_never_used_again() -> None:
    codes = [rule.code for rule in rules.ALL]

    assert codes == sorted(set(codes))
    assert not rules.RETIRED & set(codes)
    assert len({rule.name for rule in rules.ALL}) == len(codes)


def test_file_is_named_like_its_rule_and_in_its_family() -> None:
    families = {
        "0": "document", "1": "names", "2": "types", "3": "graph", "4": "guards",
        "5": "time", "6": "tools", "7": "resources", "8": "llm", "9": "security",
    }  # fmt: skip
    for rule in rules.ALL:
        family, file = rule.check.__module__.split(".")[-2:]

        assert file == rule.name.replace("-", "_")
        assert family == families[rule.code[2]]
