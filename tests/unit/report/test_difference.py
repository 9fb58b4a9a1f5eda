"""What a new version changes, and how risky it is."""

from __future__ import annotations

import pytest

from dagflow.compiler.difference import Change, Difference, Version, difference
from tests.rules.compiling import compiled

OLD = """\
dagflow: 1
name: triage
inputs: {ticket: string, limit: {type: integer, maximum: 10, default: 3}}
secrets: [TOKEN]
tools:
  helpdesk: {openapi: ./helpdesk.openapi.yaml, auth: {token: "${{ secrets.TOKEN }}"}}
steps:
  fetch:
    tool: helpdesk.getTicket
    with: {path: {id: "${{ inputs.ticket }}"}}
  big: {when: inputs.limit > 2, transform: steps.fetch.output.body.severity}
outputs:
  text: ${{ steps.fetch.output.body.text }}
  big: ${{ steps.?big.output.orValue("low") }}
"""


def version(text: str) -> Version:
    found = compiled(text)
    assert found.plan is not None, found.report.findings
    return Version(found.plan, found.report.bounds)


def changed(*replacements: tuple[str, str]) -> Difference:
    text = OLD
    for before, after in replacements:
        assert before in text
        text = text.replace(before, after)
    return difference(version(OLD), version(text))


def texts(found: Difference, area: str) -> list[str]:
    return [change.text for change in found.changes if change.area == area]


def test_same_text_elsewhere_in_the_file_changes_nothing() -> None:
    assert changed(("steps:\n", "# a comment\n\nsteps:\n")).changes == ()


@pytest.mark.parametrize(
    ("before", "after", "text"),
    [
        ("ticket: string,", "ticket: string, who: string,",
         "input 'who' is new, and must be given"),
        ("ticket: string, ", "", ""),
        ("maximum: 10", "maximum: 5", "input 'limit' refuses values that it took"),
        (", default: 3", "", "input 'limit' must be given now"),
        ("  text: ${{ steps.fetch.output.body.text }}\n", "", "output 'text' is gone"),
        ("${{ steps.fetch.output.body.text }}", "${{ steps.fetch.output.body.owner }}",
         "output 'text'"),
    ],
)  # fmt: skip
def test_what_breaks_callers_is_breaking(before: str, after: str, text: str) -> None:
    rest = () if text else (("${{ inputs.ticket }}", "t-1"),)

    found = changed((before, after), *rest)

    assert found.breaking
    assert found.risk == "high"
    assert any(line.startswith(text) for line in texts(found, "callers"))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("maximum: 10", "maximum: 20"),
        ("ticket: string,", "ticket: string, who: {type: string, default: me},"),
        ("outputs:\n", "outputs:\n  who: me\n"),
    ],
)
def test_what_callers_do_not_notice_is_not(before: str, after: str) -> None:
    found = changed((before, after))

    assert not found.breaking
    assert texts(found, "callers")


def test_new_write_operation_is_a_high_risk() -> None:
    step = "  note:\n    tool: helpdesk.createTicket\n    with: {body: {text: hi}}\noutputs:\n"

    found = changed(("outputs:\n", step))

    assert texts(found, "tools") == [
        "helpdesk.POST /tickets is called, which changes something outside"
    ]
    assert texts(found, "steps") == ["step 'note' is new (tool)"]
    assert found.risk == "high"
    assert not found.breaking


def test_changed_guard_is_shown_as_written() -> None:
    found = changed(("inputs.limit > 2", "inputs.limit > 4"))

    assert texts(found, "steps") == [
        "step 'big': guard is `inputs.limit > 4`, was `inputs.limit > 2`"
    ]
    assert found.risk == "low"


def test_step_that_does_something_else_is_told() -> None:
    found = changed(("steps.fetch.output.body.severity", "steps.fetch.output.body.state"))

    assert (
        Change("steps", "step 'big' does something else", "low", about="steps.big") in found.changes
    )


def test_new_secret_is_a_high_risk() -> None:
    step = """\
  use:
    python: |
      def main(k):
          return 1
    with: {k: "${{ secrets.OTHER }}"}
outputs:
"""

    found = changed(("[TOKEN]", "[TOKEN, OTHER]"), ("outputs:\n", step))

    assert texts(found, "secrets") == ["secret 'OTHER' is read"]
    assert found.risk == "high"


def test_what_a_run_costs_is_a_bound_like_others() -> None:
    site = "dagflow_site: 1\nprices: {currency: EUR, tools: {helpdesk: 0.01}}\n"
    ask = f"# file: site.yaml\n{site}# file: w.yaml\n{OLD}"
    again = ask.replace("    with: {path", "    retry: {attempts: 3}\n    with: {path")

    found = difference(version(ask), version(again))
    unknown = difference(version(OLD), version(ask))

    assert "cost at most: 0.03 EUR, was 0.01 EUR" in texts(found, "bounds")
    assert texts(unknown, "bounds") == ["cost at most: 0.01 EUR, was unknown"]


def test_another_price_is_not_another_model() -> None:
    ask = """\
dagflow: 1
name: ask
models: {default: {route: local, price: {prompt: 1, answer: 2}}}
steps:
  ask: {llm: {prompt: Hi, max_tokens: 9}}
outputs: {text: "${{ steps.ask.output.text }}"}
"""
    found = difference(version(ask), version(ask.replace("prompt: 1", "prompt: 3")))

    assert texts(found, "models") == ["model 'default' has another price or context"]
    assert texts(found, "bounds") == ["cost at most: 0.000021, was 0.000019"]
    assert found.risk == "low"
