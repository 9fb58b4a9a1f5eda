"""Every kind of answer of a script, and how the run takes it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.service.desk import case, failures

GOOD = [
    # a response, a model's answer, an output
    "expect: {path: [fetch, grade, route, close], outputs: {severity: low, called: false}}",
    # retries take their time by the clock, and attempts that take too long are stopped
    """
    steps:
      fetch: [{error: network}, {status: 503}, {status: 200, body: {text: x}}]
    expect: {steps: {fetch: {attempts: 3}}, within: 30s}
    """,
    """
    steps: {fetch: [{status: 200, body: {text: x}, takes: 6s}, {status: 200, body: {text: x}}]}
    expect: {steps: {fetch: {attempts: 2}}, within: 15s}
    """,
    # just as long as the timeout is in time
    """
    steps: {fetch: [{status: 200, body: {text: x}, takes: 5s}]}
    expect: {steps: {fetch: {attempts: 1}}, within: 5s}
    """,
    # a server that asks to wait
    """
    steps: {fetch: [{status: 429, headers: {Retry-After: "120"}}, {status: 200, body: {text: x}}]}
    expect: {steps: {fetch: {attempts: 2}}}
    """,
    """
    steps:
      fetch: [{error: {class: rate_limited, retry_after: 2m}}, {status: 200, body: {text: x}}]
    expect: {steps: {fetch: {attempts: 2, output: {status: 200, body: {text: x}}}}}
    """,
    # by tool, and by model
    """
    tools: {desk.getTicket: [{status: 404, body: {error: none}}]}
    expect: {error: {class: http_4xx, message: "404"}, path: [fetch], calls: {desk.getTicket: 1}}
    """,
    """
    models: {default: {text: '{"severity": "low"}', tokens: 17}}
    expect: {steps: {grade: {asked: "Grade: it burns", output: {severity: low}}}}
    """,
    # a schema that is broken on purpose
    "steps: {grade: {error: schema}}\nexpect: {error: schema}",
    # people
    """
    steps: {grade: {output: {severity: high}}}
    approvals: {ask: {decision: approve, by: ana, comment: go, after: 9m}}
    expect:
      path: [fetch, grade, route, ask, call]
      steps:
        ask:
          asked: Call somebody for T-1?
          output: {by: ana, comment: go, at: "2026-01-01T00:09:00.000000Z"}
        call: {with: {body: {text: T-1}}}
        close: {status: skipped, reason: upstream}
    """,
    """
    clock: 2026-03-01T08:00:00+01:00
    steps: {grade: {output: {severity: high}}}
    approvals: {ask: approve}
    expect: {steps: {ask: {output: {by: tester, at: "2026-03-01T07:00:00.000000Z"}}}}
    """,
    """
    steps: {grade: {output: {severity: high}}}
    approvals: {ask: {decision: reject, by: bob, comment: not now}}
    expect: {error: {class: rejected, message: "rejected by bob: not now"}}
    """,
    """
    steps: {grade: {output: {severity: high}}}
    approvals: {ask: never}
    expect: {error: {class: rejected, message: nobody decided}, within: 10m}
    """,
    """
    steps: {grade: {output: {severity: high}}}
    approvals: {ask: never}
    cancel: 5m
    expect: {status: cancelled, steps: {ask: cancelled}}
    """,
    # an outcome that nobody knows
    """
    steps: {grade: {output: {severity: high}}, call: {error: network}}
    approvals: {ask: approve}
    settle: {call: {outcome: done, output: {status: 204, headers: {}, body: null}, after: 1h}}
    expect: {outputs: {called: true}}
    """,
    """
    steps: {grade: {output: {severity: high}}, call: {error: timeout}}
    approvals: {ask: approve}
    settle: {call: not_done}
    expect: {error: conflict}
    """,
    # the run's own deadline
    """
    steps: {close: {output: {closed: T-1}, takes: 10h}}
    expect: {error: timeout, steps: {close: timed_out}}
    """,
]


@pytest.mark.parametrize("body", GOOD)
def test_a_run_goes_as_its_script_says(body: str, tmp_path: Path) -> None:
    assert failures(case(tmp_path, body)) == []


LOOPS = [
    """
    inputs: {words: [a, b, c]}
    steps: {each.one: {stdout: x}}
    expect: {outputs: {count: 3, all: [x, x, x]}, path: [each, count]}
    """,
    # a list is used up in the order of the items, also where several are under way
    """
    inputs: {words: [a, b, c, d]}
    steps: {each.one: [{stdout: x, takes: 9s}, {stdout: y}, {output: z, times: 2}]}
    expect: {outputs: {all: [x, y, z, z]}}
    """,
    """
    inputs: {words: [a, b]}
    steps:
      each.one: {stdout: x}
      each[1].one: {stdout: "", stderr: no such file, exit_code: 1}
    expect:
      outputs: {count: 1, all: [x, null]}
      steps:
        each[1].one: {status: failed, error: {class: user, message: no such file}}
        each[0].one: {output: x}
    """,
]


@pytest.mark.parametrize("body", LOOPS)
def test_items_of_a_loop_are_answered_together_or_each_by_itself(body: str, tmp_path: Path) -> None:
    assert failures(case(tmp_path, body, "loop")) == []


SIGNALS = [
    "signals: {go: {payload: {by: ann}, after: 3h}}\nexpect: {outputs: {by: ann}}",
    "signals: {go: {payload: {by: ann}, at: 1m}}\nexpect: {outputs: {by: ann}, within: 5m}",
    "signals: {go: never}\ncancel: 1d\nexpect: cancelled",
]


@pytest.mark.parametrize("body", SIGNALS)
def test_a_signal_comes_when_it_is_waited_for_or_at_a_time(body: str, tmp_path: Path) -> None:
    assert failures(case(tmp_path, body, "signal")) == []


CHILDREN = [
    # the child run runs, and what is in it can be spoken of
    """
    signals: {go: {payload: {by: ann}}}
    expect:
      path: [part]
      steps: {part/go: {output: {by: ann}}, part/pause: succeeded}
      outputs: {by: ann}
      within: 5m
    """,
    # or a script stands in for it: none is started
    """
    steps: {part: {output: {by: bob}, takes: 1m}}
    expect: {outputs: {by: bob}, within: 1m, steps: {part/go: pending}}
    """,
    "steps: {part: {error: expired}}\nexpect: {error: expired}",
    """
    steps: {part: {output: {by: bob}, takes: 30m}}
    expect: {error: timeout, within: 20m}
    """,
]


@pytest.mark.parametrize("body", CHILDREN)
def test_a_child_run_runs_or_is_stood_in_for(body: str, tmp_path: Path) -> None:
    assert failures(case(tmp_path, body, "parent")) == []


def test_nothing_waits_and_the_same_case_gives_the_same_words(tmp_path: Path) -> None:
    body = """
    steps: {fetch: {error: network}}
    expect: {steps: {fetch: {attempts: 1}}}
    """

    first, second = case(tmp_path, body), case(tmp_path, body)

    assert failures(first) == failures(second) != []
    assert first == second
