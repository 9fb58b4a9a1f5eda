"""What a run can cost at most, and how long it takes."""

from __future__ import annotations

import pytest

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
                  retry: {attempts: 2, backoff: 1s, jitter: 0, on: timeout}
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


def test_what_undoes_a_step_counts_once_for_each_item_and_comes_one_after_another() -> None:
    found = bounds(
        """
        deadline: 10s
        cleanup: {deadline: 5m}
        steps:
          each:
            foreach:
              items: "[1, 2, 3]"
              max_items: 3
              concurrency: 3
              steps:
                ask:
                  llm: {prompt: hello, max_tokens: 10}
                  timeout: 30s
                  compensate: {llm: {prompt: undo, max_tokens: 100}, timeout: 50s}
              collect: item
        finally:
          note: {llm: {prompt: bye, max_tokens: 1}, timeout: 20s}
        """
    )

    assert found.steps == 1 + 3 + 3 + 1
    assert found.tokens == 3 * 10 + 3 * 100 + 1
    assert found.time_worst == 10 + 3 * 50 + 20


@pytest.mark.parametrize(("cleanup", "seconds"), [("", 60), ("cleanup: {deadline: 7s}", 7)])
def test_the_clean_up_has_a_deadline_of_its_own(cleanup: str, seconds: int) -> None:
    found = bounds(
        f"""
        {cleanup or "deadline: 5s"}
        steps:
          book:
            wait: {{for: 1s}}
            compensate: {{llm: {{prompt: undo}}, timeout: 500s}}
        """
    )

    assert found.time_worst == 1 + seconds


def test_a_deadline_that_may_stand_still_cuts_nothing() -> None:
    found = bounds(
        """
        deadline: 10s
        steps:
          ask: {approve: {message: ok?, expires: 1h, pause_clock: true}}
        """
    )

    assert found.time_worst == 3600


@pytest.mark.parametrize(
    ("steps", "fastest"),
    [
        ("w: {wait: {for: 20s}}", 20),
        ("w: {wait: {for: 20s}, on_error: {continue: null}}", 20),
        ("w: {wait: {for: 20s}}, x: {wait: {for: 5s}, after: {step: w, on: done}}", 25),
        ("r: {repeat: {max: 3, until: 'turn > 1', steps: {w: {wait: {for: 20s}}}}}", 20),
        ("a: {python: 'def main(): pass', on_error: {goto: b}}, b: {wait: {for: 20s}}", 0),
        (
            (
                "a: {python: 'def main(): pass', on_error: {goto: z}}, z: {transform: '1'},"
                " b: {after: a, wait: {for: 20s}}"
            ),
            0,
        ),
        (
            (
                "a: {approve: {message: m, expires: 1h, on_expiry: {goto: z}}},"
                " z: {transform: '1'}, b: {after: a, wait: {for: 20s}}"
            ),
            0,
        ),
        (
            (
                "a: {python: 'def main(): pass', on_error: {continue: null}},"
                " b: {after: a, wait: {for: 20s}}"
            ),
            20,
        ),
        ("a: {wait: {for: 20s}}, b: {transform: '1'}, c: {after: [a, b], join: any, fail: x}", 20),
        ("e: {foreach: {items: '[1]', max_items: 1, steps: {w: {wait: {for: 20s}}}}}", 0),
    ],
)
def test_no_success_is_faster_and_a_deadline_below_it_is_an_error(
    steps: str, fastest: float
) -> None:
    text = f"steps: {{{steps}}}"
    bounded = compiled(f"deadline: 10s\n{text}").report

    assert bounds(text).time_best == fastest
    assert ("DF501" in {finding.code for finding in bounded.findings}) is (fastest > 10)


def test_a_wait_for_which_the_clock_stands_still_fits_any_deadline() -> None:
    text = "deadline: 10s\nsteps: {w: {wait: {for: 1h, pause_clock: true}}}"

    assert bounds(text).time_best == 3600


@pytest.mark.parametrize(
    ("handler", "refused"),
    [
        ("", True),
        (", on_error: {on: network, continue: {text: a, finish_reason: stop}}", True),
        (", on_error: {continue: {text: a, finish_reason: stop}}", False),
        (", on_error: {on: [budget], continue: {text: a, finish_reason: stop}}", False),
    ],
)
def test_a_step_that_the_run_can_do_without_needs_no_budget(handler: str, refused: bool) -> None:
    found = compiled(
        f"budget: {{tokens: 100}}\nsteps: {{a: {{llm: {{prompt: hi, max_tokens: 400}}{handler}}}}}"
    ).report.findings

    assert ("DF703" in {finding.code for finding in found}) is refused
