"""Every way in which a case may go otherwise is said in words of its own, at its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from dagflow.core.text import clean
from dagflow.service.testing.difference import differences
from tests.unit.service.desk import case, failures, findings, run

HIGH = "steps: {grade: {output: {severity: high}}}\n"

# what a case says → what is said of it
SAID: dict[str, list[str]] = {
    # ── the script ──
    HIGH + "approvals: {ask: approve}\nsettle: {call: done}\nexpect: succeeded": [
        "what is settled of step `call` was never asked for"
    ],
    HIGH + "expect: failed": [
        "step `ask` asks for an approval, and the case does not say what happens"
    ],
    HIGH + "approvals: {ask: {decision: approve, after: 10m}}\nexpect: succeeded": [
        "the answer to approval `ask` was refused: the approval ask has expired"
    ],
    "steps: {fetch: [{error: network}]}\nexpect: succeeded": [
        "the answer of step `fetch` was asked for a 2nd time"
    ],
    "steps: {fetch: [{error: network, times: 2}]}\nexpect: succeeded": [
        "the answer of step `fetch` was asked for a 3rd time"
    ],
    "steps: {fetch: [{status: 200, body: {text: x}, times: 2}, {error: network}]}\n"
    "expect: succeeded": ["the answer of step `fetch`: 2 of 3 answers not asked for"],
    "tools: {desk.callSomebody: {status: 204}}\nexpect: succeeded": [
        "the answer of tool `desk.callSomebody` was never asked for"
    ],
    "steps: {fetch: {status: 200, body: {txt: x}}}\nexpect: succeeded": [
        (
            "the scripted response of step `fetch` is not as promised: "
            "the 200 response breaks its schema: / has no 'text', which is required"
        )
    ],
    "steps: {fetch: {status: 202}}\nexpect: succeeded": [
        (
            "the scripted response of step `fetch` is not as promised: "
            "the 202 response has a status that the document does not declare"
        )
    ],
    "steps: {grade: {output: {severity: hi}}}\nexpect: succeeded": [
        (
            "the scripted output of step `grade` breaks its schema at /severity: "
            "'hi' is not one of ['low', 'high']"
        )
    ],
    "steps: {grade: {text: high}}\nexpect: succeeded": [
        (
            "the scripted output of step `grade` breaks its schema at /: the answer is not the "
            "JSON that was asked for (not JSON: Expecting value: line 1 column 1 (char 0)): 'high' "
            "(use a server that keeps `response_format: json_schema`)"
        )
    ],
    "steps: {close: {output: {closed: 3}}}\nexpect: succeeded": [
        (
            "the scripted output of step `close` breaks its schema at /closed: "
            "3 is not of type 'string'"
        )
    ],
    "inputs: {ticket: 7}\nexpect: succeeded": [
        "the inputs of workflow 'desk' don't fit: /ticket: 7 is not of type \"string\""
    ],
    "cancel: 1h\nexpect: cancelled": [
        "the run was not cancelled: run run_test is succeeded already"
    ],
    # ── the run ──
    "expect: failed": ["the run ended otherwise | failed | succeeded"],
    "steps: {fetch: {status: 404}}\nexpect: succeeded": [
        (
            "the run ended otherwise | succeeded | failed: http_4xx: step fetch: "
            "GET /tickets/{id} at http://127.0.0.1:1: the server answered 404"
        )
    ],
    "steps: {fetch: {status: 404}}\nexpect: {error: timeout}": [
        (
            "the run failed otherwise | timeout | http_4xx: step fetch: GET /tickets/{id} at "
            "http://127.0.0.1:1: the server answered 404"
        )
    ],
    "steps: {fetch: {error: {class: http_4xx, message: gone}}}\n"
    "expect: {error: {class: http_4xx, message: moved}}": [
        'the run failed with another message | a message with "moved" | "step fetch: gone"'
    ],
    "expect: {error: timeout}": ["the run ended otherwise | failed | succeeded"],
    "steps: {fetch: {status: 200, body: {text: x}, takes: 4s}}\nexpect: {within: 3500ms}": [
        "the run took longer | at most 3s500ms | 4s"
    ],
    "expect: {calls: {desk.getTicket: 2, desk.callSomebody: 0}}": [
        "tool `desk.getTicket` was called otherwise | 2 calls | 1 call"
    ],
    "expect: {outputs: {severity: high, called: false}}": [
        'output `severity` differs | "high" | "low"'
    ],
    # ── its path ──
    "expect: {path: [fetch, grade, route, ask]}": [
        (
            "the run did not come to `ask` there: `close` came instead | "
            "fetch → grade → route → ask | fetch → grade → route → close"
        )
    ],
    "expect: {path: [fetch, grade]}": [
        "the run went on, to `route` | fetch → grade | fetch → grade → route → close"
    ],
    "expect: {path: [[grade, fetch], [route, close, ask]]}": [
        (
            "the run did not come to `ask` there: `route and close` came instead"
            " | (grade, fetch) → (route, close, ask) | fetch → grade → route → close"
        )
    ],
    "expect: {path: []}": ["the run went on, to `fetch` | no step | fetch → grade → route → close"],
    # ── its steps ──
    "expect: {steps: {ask: succeeded}}": [
        "step `ask` ended otherwise | succeeded | skipped(upstream)"
    ],
    "expect: {steps: {ask: {reason: guard}}}": [
        "step `ask` ended for another reason | guard | skipped(upstream)"
    ],
    "expect: {steps: {fetch: {attempts: 2}}}": [
        "step `fetch` was tried otherwise | 2 attempts | 1 attempt"
    ],
    "expect: {steps: {close: {output: {closed: T-2}}}}": [
        'the output of step `close` differs at /closed | "T-2" | "T-1"'
    ],
    "expect: {steps: {ask: {output: {by: ana}}}}": [
        "step `ask` has no output | an output | skipped(upstream)"
    ],
    "expect: {steps: {fetch: {error: timeout}}}": [
        "step `fetch` did not fail | timeout | no error"
    ],
    "expect: {steps: {fetch: {with: {path: {id: T-2}}}}}": [
        'the `with` of step `fetch` differs at /path/id | "T-2" | "T-1"'
    ],
    "expect: {steps: {grade: {asked: Judge}}}": [
        'step `grade` was not asked that | a text with "Judge" | "Grade: it burns"'
    ],
}


@pytest.mark.parametrize("body", SAID)
def test_what_goes_otherwise_is_said(body: str, tmp_path: Path) -> None:
    assert failures(case(tmp_path, body)) == SAID[body]


def test_a_step_without_an_answer_is_a_failure_that_says_how_one_is_written(tmp_path: Path) -> None:
    found = case(tmp_path, "steps: {fetch: {status: 200, body: {text: x}}}\nexpect: failed",
                 common="defaults: {inputs: {ticket: x}}\n")  # fmt: skip

    assert failures(found) == ["step `grade` ran, and the case does not say what it answers"]
    assert found.cases[0].failures[0].help == (
        "under `steps`, `grade: …`: {output: …} or {error: model}"
    )


def test_a_run_that_stands_still_says_what_it_waits_for(tmp_path: Path) -> None:
    found = case(tmp_path, "signals: {go: never}\nexpect: succeeded", "signal")

    assert failures(found) == [
        "the run never ends: `go` is waiting(signal), and nothing is due any more"
    ]


def test_a_signal_that_nobody_can_take_any_more_is_refused(tmp_path: Path) -> None:
    late = "signals: {go: [{payload: {by: a}, at: 1s}, {payload: {by: b}, at: 2s}]}\n"

    assert failures(case(tmp_path, late + "expect: succeeded", "signal")) == [
        "the signal `go` was refused: no step can still take a signal 'go'"
    ]


def test_a_failure_is_at_its_place(tmp_path: Path) -> None:
    found = case(tmp_path, """
        steps: {fetch: {status: 200, body: {text: x}}}
        expect:
          steps:
            close:
              output: {closed: T-9}
        """)  # fmt: skip

    (failure,) = found.cases[0].failures
    assert failure.span.file.endswith("desk.test.yaml")
    line = found.sources[failure.span.file].line(failure.span.line)
    assert line[failure.span.column - 1 : failure.span.end_column - 1] == "T-9"


def test_a_case_that_fails_says_how_the_run_went(tmp_path: Path) -> None:
    (one,) = case(tmp_path, "expect: failed").cases

    assert one.ended == "succeeded: fetch → grade → route → close"


# ── values ──

PAIRS = [
    ("{a: 1}", {"a": 1, "b": 2}, []),
    ("{a: 1.0}", {"a": 1}, []),
    ("{}", {}, []),
    ("[]", [], []),
    ("{}", {"a": 1}, ['  {} {"a": 1}']),
    ("{a: {b: [1, {c: 2}]}}", {"a": {"b": [1, {"c": 3}]}}, ["/a/b/1/c 2 3"]),
    ("{a: true}", {"a": 1}, ["/a true 1"]),
    ("{a: 1}", {"a": True}, ["/a 1 true"]),
    ("{a: null}", {"a": 0}, ["/a null 0"]),
    ("{lenght: 1}", {"length": 1}, ["/lenght 1 no `lenght`; did you mean 'length'?"]),
    ("[1, 2]", [1], ["/1 2 1 in all: [1]"]),
    ("[1]", [1, 2], ["/1 no more items 2"]),
    ("{a: '1'}", {"a": 1}, ['/a "1" 1']),
    ("{a: {b: 1}}", {"a": [1]}, ['/a {"b": 1} [1]']),
    ("{'a/b': 1}", {"a/b": 2}, ["/a~1b 1 2"]),
]  # fmt: skip


@pytest.mark.parametrize(("wanted", "got", "said"), PAIRS)
def test_values_differ_where_they_do(wanted: str, got: object, said: list[str]) -> None:
    from dagflow.compiler.source.yaml import compose
    from dagflow.core.source import Source

    root = compose(Source("x", wanted)).root
    assert root is not None
    found = [f"{it.pointer} {it.expected} {it.got}" for it in differences(root, got)]

    assert [clean(it) for it in found] == [it.replace("  {}", " {}") for it in said]


def test_of_long_texts_it_is_said_where_they_part(tmp_path: Path) -> None:
    text = "The shop is down since this morning, and nobody can buy anything at all."
    case_ = f"""
    steps: {{fetch: {{status: 200, body: {{text: "{text}"}}}}}}
    expect: {{steps: {{fetch: {{output: {{body: {{text: "{text.replace("buy", "sell")}"}}}}}}}}}}
    """

    (failure,) = case(tmp_path, case_).cases[0].failures

    assert failure.help == (
        'they part at character 53: expected "ing, and nobody can sell anything at all", '
        'got "ing, and nobody can buy anything at all."'
    )


# ── files that can't be run ──

REFUSED: dict[str, list[str]] = {
    "": ["1:1 a test file is a mapping that begins with `dagflow_test: 1`"],
    "dagflow_test: 1\n": ["1:1 the test file has no `cases`"],
    "dagflow_test: 2\ncases: [{name: x, expect: failed}]": [
        "1:15 `dagflow_test` takes only 1, not the number 2"
    ],
    "dagflow_test: 1\nworkflow: ./dsk.yaml\ncases: [{name: x, expect: failed}]": [
        "2:11 {folder}/dsk.yaml: no such file"
    ],
    "dagflow_test: 1\ncase: [{name: x, expect: failed}]": [
        "2:1 the test file has no key `case`; did you mean `cases`?"
    ],
    "dagflow_test: 1\ncases: [{name: x}]": ["2:9 `cases` has no `expect`"],
    "dagflow_test: 1\ncases: [{name: x, expect: {}}, {name: x, expect: {}}]": [
        "2:39 two cases are named 'x'"
    ],
    "dagflow_test: 1\ncases: [{name: x, clock: today, expect: {}}]": [
        "2:26 `clock` is 'today', which is no instant"
    ],
    "dagflow_test: 1\ncases: [{name: x, inputs: 3, expect: {}}]": [
        "2:27 `inputs` is a mapping of names to values"
    ],
    "dagflow_test: 1\nnot_reached: [rout]\ncases: [{name: x, expect: {}}]": [
        "2:15 the workflow has no part `rout`; did you mean `route`?"
    ],
}


@pytest.mark.parametrize("text", REFUSED)
def test_a_file_that_can_t_be_run_says_why(text: str, tmp_path: Path) -> None:
    (tmp_path / "desk.test.yaml").write_text(text)
    from dagflow.service.testing.running import run_file
    from tests.unit.service.desk import FILES

    for name, body in FILES.items():
        (tmp_path / name).write_text(body)

    found = run_file(str(tmp_path / "desk.test.yaml"))

    assert findings(found) == [it.replace("{folder}", str(tmp_path)) for it in REFUSED[text]]
    assert not found.passed


# what a case says → what is said of it, without its place
MISFITS: dict[str, list[str]] = {
    "steps: {fech: {error: timeout}}": ["the workflow has no step `fech`; did you mean `fetch`?"],
    "steps: {route: {output: 1}}": ["step `route` is of kind switch and takes no answers"],
    "steps: {'fetch[2]': {error: timeout}}": [
        "the workflow has no step `fetch[2]`; did you mean `fetch`?"
    ],
    "steps: {fetch: {text: hi}}": ["`fetch` is of kind tool, and `text` is for llm"],
    "steps: {fetch: {}}": ["the answer of `fetch` says nothing"],
    "steps: {fetch: []}": ["`fetch` is an empty list"],
    "steps: {fetch: {status: 200, error: timeout}}": [
        "the answer of `fetch` has both `error` and `status`"
    ],
    "steps: {fetch: {error: timeout, body: 1}}": [
        "the answer of `fetch` has `body` without `status`"
    ],
    "steps: {fetch: {error: timeout, times: 2}}": [
        "the answer of `fetch` is given as often as it is asked for, so `times` says nothing"
    ],
    "steps: {fetch: {error: tiemout}}": [
        "`error` can't be `tiemout`; did you mean `timeout`?"
    ],
    "tools: {desk.getTickets: {error: timeout}}": [
        "the workflow has no operation of a tool `desk.getTickets`; did you mean `desk.getTicket`?"
    ],
    "models: {small: {error: model}}": ["the workflow has no model that a step asks `small`"],
    "approvals: {close: approve}": ["step `close` is of kind python and asks nobody"],
    "approvals: {ask: aprove}": ["`ask` can't be `aprove`; did you mean `approve`?"],
    "signals: {go: never}": [
        "`go` is a signal that a step waits for, and the workflow has none"
    ],
    "settle: {route: done}": ["step `route` is of kind switch and leaves no outcome unknown"],
    "real: fetch": ["step `fetch` is of kind tool and has no code to run"],
    "expect: {outputs: {sverity: low}}": [
        "the workflow has no output `sverity`; did you mean `severity`?"
    ],
    "expect: {path: [fetch, grad]}": ["the workflow has no step `grad`; did you mean `grade`?"],
    "expect: {steps: {ask: gone}}": ["`ask` can't be `gone`"],
}  # fmt: skip


@pytest.mark.parametrize("body", MISFITS)
def test_a_name_that_the_workflow_has_not_is_told(body: str, tmp_path: Path) -> None:
    more = "" if "expect" in body else "\nexpect: {}"

    found = case(tmp_path, body + more)

    assert [it.message for it in found.findings] == MISFITS[body]
    assert all(it.span.line > 8 for it in found.findings)


def test_an_inner_step_is_not_of_the_path(tmp_path: Path) -> None:
    found = case(tmp_path, "expect: {path: [each.one]}", "loop")

    assert [it.message for it in found.findings] == [
        "`each.one` stands inside of another step, and the path has those of the top"
    ]


def test_a_workflow_with_errors_is_told_with_its_own_findings(tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text("dagflow: 1\nname: bad\nsteps: {a: {transform: inputs.x}}\n")

    found = run(tmp_path, "dagflow_test: 1\nworkflow: ./bad.yaml\ncases: [{name: x, expect: {}}]\n")

    assert [it.code for it in found.findings] == ["DF101"]
    assert found.findings[0].span.file.endswith("bad.yaml")
