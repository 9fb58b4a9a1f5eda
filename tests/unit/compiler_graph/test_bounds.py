"""What a run can cost at most, and how long it takes."""

from __future__ import annotations

from dagflow.core.findings import Bounds
from tests.unit.compiler_graph.compiling import compiled


def bounds(text: str) -> Bounds:
    made = compiled(text)
    assert made.plan is not None, made.report.findings
    return made.report.bounds


def test_loops_multiply_what_is_inside_them() -> None:
    found = bounds(
        """
        inputs: {items: {type: array, items: {type: integer}, maxItems: 4}}
        steps:
          each:
            foreach:
              items: inputs.items
              max_items: 4
              concurrency: 2
              steps:
                ask:
                  llm: {prompt: hello, max_tokens: 10}
                  timeout: 5s
                  retry: {attempts: 2, backoff: 1s, jitter: 0}
        outputs:
          all: ${{ steps.each.output }}
        """
    )

    assert found.steps == 1 + 4
    assert found.tokens == 4 * 10 * 2
    assert found.time_worst == 2 * (5 + 1 + 5)


def test_longest_way_counts_and_is_named() -> None:
    found = bounds(
        """
        steps:
          short: {wait: {for: 1s}}
          long: {wait: {for: 3s}}
          last: {after: [short, long], wait: {for: 2s}}
        """
    )

    assert (found.time_best, found.time_worst) == (5.0, 5.0)
    assert found.critical_path == ("long", "last")


def test_guarded_wait_may_take_no_time() -> None:
    found = bounds(
        """
        inputs: {late: boolean}
        steps:
          pause: {when: inputs.late, wait: {for: 3s}}
        """
    )

    assert (found.time_best, found.time_worst) == (0.0, 3.0)


def test_deadlines_cut_the_worst_time() -> None:
    found = bounds(
        """
        deadline: 10s
        steps:
          ask: {llm: {prompt: hello}, timeout: 60s}
        outputs: {text: "${{ steps.ask.output.text }}"}
        """
    )

    assert found.time_worst == 10.0


def test_wait_without_expiry_has_no_worst_time() -> None:
    found = bounds(
        """
        steps:
          hear: {wait: {signal: hello}, output: string}
        outputs: {text: "${{ steps.hear.output }}"}
        """
    )

    assert found.time_worst is None
