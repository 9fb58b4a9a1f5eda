"""The report as text: what of a source line is quoted."""

from __future__ import annotations

import pytest

from dagflow.compiler.report.text import LONGEST_LINE, render
from dagflow.core.source import Source
from tests.rules.compiling import compiled


def quoted(line: str) -> tuple[str, str]:
    """Return how the report quotes the last line of a workflow, and what it marks there."""
    text = f"dagflow: 1\nname: x\n{line}\n"
    result = compiled(text)
    name = result.report.findings[0].span.file
    shown = render(result.report, {name: Source(name, text)}).splitlines()
    at = next(index for index, one in enumerate(shown) if one.startswith(" 3 | "))
    source, carets = shown[at][5:], shown[at + 1][5:]
    return source, source[carets.index("^") : len(carets)]


@pytest.mark.parametrize("before", [0, 150, 190, 3000])
@pytest.mark.parametrize("after", [0, 150, 3000])
def test_a_long_line_is_quoted_around_what_is_marked(before: int, after: int) -> None:
    line = (
        f"""{{pad: "{"x" * before}", steps: {{a: {{transform: nope, name: "{"x" * after}"}}}}}}"""
    )

    source, marked = quoted(f"steps: {line}")

    assert len(source) <= LONGEST_LINE + 2
    assert marked


def test_what_is_marked_beyond_the_quoted_part_is_marked_up_to_its_end() -> None:
    source, marked = quoted(f"steps: {{a: {{transform: '{'1 + ' * 5000}1'}}}}")

    assert source.endswith("…")
    assert marked.rstrip("…") == source[source.index("'") :].rstrip("…")
