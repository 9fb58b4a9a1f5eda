# ruff: noqa: E501  # a table of mistakes reads best with one in a line
from __future__ import annotations

import re
import time
from dataclasses import fields, is_dataclass
from datetime import timedelta
from pathlib import Path

import pytest

from dagflow.compiler.source.parse import parse
from dagflow.core.node import plain
from dagflow.core.shape import slots
from dagflow.core.source import At, Source, Span
from dagflow.core.steps import KINDS
from dagflow.core.steps.foreach import Foreach
from dagflow.core.steps.llm import Llm
from dagflow.core.steps.switch import Switch
from dagflow.core.steps.wait import Wait
from dagflow.core.workflow import AtLeast, Step, Workflow

from .cases import REPOSITORY
from .reading import HEAD, place, read_step, step, steps, under, workflow

FULL = Path(__file__).with_name("full.yaml")


def full() -> Workflow:
    parsed = parse(Source("full.yaml", FULL.read_text(encoding="utf-8")))
    assert [(it.span.line, it.message) for it in parsed.findings] == []
    assert parsed.workflow is not None
    return parsed.workflow


def test_a_workflow_with_every_key_and_kind_is_read_without_findings() -> None:
    flow = full()

    assert {it.kind.value for it in flow.steps} == set(KINDS)
    assert all(getattr(flow, slot.attribute) for slot in slots(Workflow))
    used = {
        slot.attribute for slot in slots(Step) for it in flow.steps if getattr(it, slot.attribute)
    }
    assert used == {slot.attribute for slot in slots(Step)}


def test_what_is_written_is_what_is_read() -> None:
    flow = full()
    by_name = {it.name.value: it for it in flow.steps}
    fetch, judge, chat, pay = (by_name[name] for name in ("fetch", "judge", "chat", "pay"))

    assert flow.deadline is not None
    assert flow.deadline.value == timedelta(hours=1, minutes=30)
    assert flow.defaults is not None
    assert flow.defaults.quota is not None
    assert flow.defaults.quota.memory is not None
    assert flow.defaults.quota.memory.value == 256 * 1024 * 1024
    assert flow.defaults.retry is not None
    assert flow.defaults.retry.attempts is not None
    assert flow.defaults.retry.attempts.value == 2
    assert fetch.retry is not None
    assert fetch.retry.backoff is not None
    assert fetch.retry.backoff.value == timedelta(milliseconds=200)
    assert [it.value for it in fetch.retry.on] == ["timeout", "network"]
    assert [(it.step.value, it.on and it.on.value) for it in chat.after] == [
        ("fetch", None), ("judge", "done"),
    ]  # fmt: skip
    assert isinstance(chat.join, AtLeast)
    assert [it.goto and it.goto.value for it in chat.on_error] == [None, "give_up"]
    assert isinstance(judge.body, Llm)
    assert [it.value for it in judge.body.stop] == ["\n"]
    assert judge.output is not None
    assert [it.name.value for it in judge.output.fields] == ["verdict", "why"]
    assert pay.compensate is not None
    assert (pay.compensate.name.value, pay.compensate.kind.value) == ("pay.compensate", "tool")
    assert isinstance(by_name["route"].body, Switch)
    assert [it.value for it in by_name["route"].body.branches[1].then] == ["ask", "remind"]
    letters = by_name["letters"].body
    assert isinstance(letters, Foreach)
    assert letters.as_ is not None
    assert [it.name.value for it in letters.steps] == ["write"]
    assert [it.name.value for it in flow.finally_] == ["note"]
    assert flow.inputs is not None
    assert [it.name.value for it in flow.inputs.fields if it.type.optional] == ["note", "tags"]


def test_every_place_is_where_the_author_wrote_the_value() -> None:
    flow = full()
    lines = FULL.read_text(encoding="utf-8").split("\n")
    seen = 0

    for at in places(flow):
        span = at.span
        assert span.file == "full.yaml"
        if isinstance(at.value, str) and span.line == span.end_line and at.value.isidentifier():
            written = lines[span.line - 1][span.column - 1 : span.end_column - 1]
            assert at.value.removesuffix(".compensate") in written or written == "compensate"
            seen += 1
    assert seen > 80


def places(value: object) -> list[At[object]]:
    if isinstance(value, At):
        return [value]
    if isinstance(value, tuple):
        return [found for item in value for found in places(item)]
    if is_dataclass(value) and not isinstance(value, Span | Source):
        names = [it.name for it in fields(value) if it.name not in {"root", "source"}]
        return [found for name in names for found in places(getattr(value, name))]
    return []


def test_the_example_of_the_language_page_is_read_without_findings() -> None:
    page = REPOSITORY.parent / "shared" / "design" / "language.md"
    if not page.is_file():
        pytest.skip(f"the design pages are not here (looked for {page})")
    example = re.search(r"```yaml\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    assert example is not None

    assert parse(Source("example.yaml", example[1])).findings == ()


def test_the_workflows_of_the_yaml_page_are_read_without_findings() -> None:
    page = (REPOSITORY / "docs" / "yaml.md").read_text(encoding="utf-8")
    examples = re.findall(r"```yaml\n(dagflow: 1\n.*?)```", page, re.DOTALL)

    assert examples
    assert all(parse(Source("page.yaml", text)).findings == () for text in examples)


def test_shorthands() -> None:
    assert read_step("transform: x\nretry: 3").retry.attempts.value == 3  # type: ignore[union-attr]
    assert [it.step.value for it in read_step("transform: x\nafter: y").after] == ["y"]
    wait = read_step("wait: 1h30m").body
    assert isinstance(wait, Wait)
    assert wait.for_ is not None
    assert wait.for_.value == timedelta(minutes=90)
    assert read_step("llm: hello").body.prompt.value == "hello"
    assert [plain(it) for it in read_step("shell: [ls, '-l']").body.argv] == ["ls", "-l"]
    assert read_step("workflow: ./x.yaml").body.file.value == "./x.yaml"
    assert read_step("fail: why").body.message.value == "why"
    assert read_step("switch: [{when: a, then: b}]").body.branches[0].then[0].value == "b"
    assert [
        it.value for it in read_step("transform: x\non_error: {on: oom, goto: y}").on_error[0].on
    ] == ["oom"]


@pytest.mark.parametrize(
    ("written", "read"),
    [("true", "true"), ("1", "1"), ("1.5", "1.5"), ("null", "null"), ("a", "a")],
)
def test_an_expression_may_look_like_a_yaml_value(written: str, read: str) -> None:
    assert read_step(f"transform: {written}").body.expression.value == read


MISTAKES = [
    # body of step `a` · the text the finding points at · what it says · what it offers instead
    ("transfrom: x", "transfrom", "did you mean `transform`?", "transform"),
    ("aftre: b\ntransform: x", "aftre", "did you mean `after`?", "after"),
    ("transform: x\nAfter: b", "After", "did you mean `after`?", "after"),
    ("frobnicate: 1", "frobnicate", "no key `frobnicate`", ""),
    ("transform: x\nfrobnicate: 1", "frobnicate", "no key `frobnicate`", ""),
    ("after: b", "a", "no kind", ""),
    ("transform: x\nllm: y", "llm", "two kinds, `transform` and `llm`", ""),
    ("agent: {tools: [a]}", "agent", "runs no `agent` steps", ""),
    ("retrieve: {index: a}", "retrieve", "runs no `retrieve` steps", ""),
    ("llm: {model: m, timeout: 3s, prompt: p}", "timeout", "further out, beside `llm`", ""),
    ("llm: {model: m}\nprompt: p", "prompt", "belongs under `llm`", ""),
    ("foreach: {items: x, max_items: 1}\nsteps: {b: {transform: x}}", "steps", "under `foreach`", ""),
    ("transform: x\nmemory: 1MB", "memory", "belongs under `quota`", ""),
    ("transform: x\nattempts: 3", "attempts", "belongs under `retry`", ""),
    ("transform: x\nquota: {timeout: 3s}", "timeout", "further out, beside `quota`", ""),
    ("transform: x\nquota: {outputs: 3s}", "outputs", "further out, in the workflow", ""),
    ("llm: {model: m}", "llm", "none of `prompt` and `messages`", ""),
    ("llm: {prompt: p, messages: [{role: user, content: c}]}", "{role: user, content: c}", "both `prompt` and `messages`", ""),
    ("llm: {messages: [{role: user, content: c}], system: s}", "s", "nothing without `prompt`", ""),
    ("llm: {messages: [{role: usr, content: c}]}", "usr", "did you mean `user`?", "user"),
    ("llm: {messages: []}", "llm", "none of `prompt` and `messages`", ""),
    ("llm: {prompt: p, temperature: 3}", "3", "a number from 0 to 2", ""),
    ("llm: {prompt: 5}", "5", 'did you mean `"5"`?', '"5"'),
    ("wait: 5", "5", "did you mean `5s`?", "5s"),
    ("wait: {for: 5 seconds}", "5 seconds", "did you mean `5s`?", "5s"),
    ("wait: {}", "wait", "none of `for`, `until` and `signal`", ""),
    ("wait: {for: 5s, signal: x}", "x", "both `for` and `signal`", ""),
    ("wait: {for: 5s, expires: 1s}", "1s", "nothing without `signal`", ""),
    ("wait: {until: tomorrow}", "tomorrow", "no instant", ""),
    ("wait: {until: '2026-01-01T00:00:00'}", "'2026-01-01T00:00:00'", "no instant", ""),
    ("wait:", "wait", "has no value; it takes a duration", ""),
    ("transform: x\nretry: many", "many", "an integer from 1 to 100", ""),
    ("transform: x\nretry: {attempts: 0}", "0", "an integer from 1 to 100", ""),
    ("transform: x\nretry: {on: [timout]}", "timout", "did you mean `timeout`?", "timeout"),
    ("transform: x\nretry: {attempts: 3, backof: 1s}", "backof", "did you mean `backoff`?", "backoff"),
    ("transform: x\nretry: {attempts: 3, attempt: 4}", "attempt", "`attempts` is there already", ""),
    ("transform: x\nafter: [y, {step: z, on: fail}]", "fail", "did you mean `failure`?", "failure"),
    ("transform: x\nafter: [{on: success}]", "{on: success}", "no `step`", ""),
    ("transform: x\nafter:", "after", "has no value", ""),
    ("transform: x\nafter: true", "true", "a name", ""),
    ("transform: x\nafter: a b", "a b", "did you mean `a_b`?", "a_b"),
    ("transform: x\njoin: al", "al", "did you mean `all`?", "all"),
    ("transform: x\njoin: 2", "2", "or a mapping with `at_least`", ""),
    ("transform: x\njoin: {at_least: 0}", "0", "an integer from 1", ""),
    ("transform: x\neffects: idempotant", "idempotant", "did you mean `idempotent`?", "idempotent"),
    ("transform: ${{ x }}", "${{ x }}", "takes no `${{ }}`", ""),
    ("transform: ''", "''", "an expression", ""),
    ("transform: [x]", "[x]", "an expression, not a list", ""),
    ("switch:\n  - else: b\n  - when: x\n    then: b", "b", "`else` is the last branch", ""),
    ("switch:\n  - {else: b}\n  - {else: c}", "c", "has one `else`", ""),
    ("switch:\n  - {when: x}", "{when: x}", "no `then`", ""),
    ("switch:\n  - {then: x}", "{then: x}", "no `when`", ""),
    ("switch:\n  - {when: x, else: y}", "x", "`else` has no `when`", ""),
    ("switch:\n  - {wehn: x, then: y}", "wehn", "did you mean `when`?", "when"),
    ("switch: [{when: x, then: [b, end]}]", "end", "`end` stands alone", ""),
    ("switch: [{when: x, then: [b, b]}]", "b", "named twice", ""),
    ("switch: []", "[]", "an empty list", ""),
    ("workflow: {file: x, name: y}", "y", "both `file` and `name`", ""),
    ("workflow: {}", "workflow", "none of `file` and `name`", ""),
    ("workflow: {file: x, version: '1'}", "'1'", "nothing without `name`", ""),
    ("approve: {message: m, on_expiry: fail}", "fail", "nothing without `expires`", ""),
    ("approve: {message: m, expires: 1h, on_expiry: approve}", "approve", "can't be `approve`", ""),
    ("approve: {message: m, pause_clock: yes}", "yes", "did you mean `true`?", "true"),
    ("transform: x\non_error: {on: timout, goto: y}", "timout", "did you mean `timeout`?", "timeout"),
    ("transform: x\non_error: [{on: timeout}]", "{on: timeout}", "none of `continue` and `goto`", ""),
    ("transform: x\non_error: [{goto: y, continue: 1}]", "y", "both `continue` and `goto`", ""),
    ("transform: x\non_error: [{goto: y}, {on: oom, goto: z}]", "{on: oom, goto: z}", "no failure reaches", ""),
    ("tool: a.b\ncompensate: {switch: [{else: x}]}", "switch", "can't be a `switch` step", ""),
    ("tool: a.b\ncompensate: {tool: x.y, after: z}", "after", "`compensate` has no `after`", ""),
    ("tool: a.b\ncompensate: x", "compensate", "takes a step body", ""),
    ("tool: a.b\ncompensate: {tol: x.y}", "tol", "did you mean `tool`?", "tool"),
    ("tool: ab", "ab", "can't be 'ab'", ""),
    ("shell: ls -l", "ls -l", "a list", ""),
    ("shell: []", "[]", "an empty list", ""),
    ("shell: [ls, 1]", "1", 'did you mean `"1"`?', '"1"'),
    ("transform: x\ntimeout: 30", "30", "did you mean `30s`?", "30s"),
    ("transform: x\ntimeout: 0s", "0s", "no time at all", ""),
    ("transform: x\ncache: {ttl: 0ms}", "0ms", "no time at all", ""),
    ("transform: x\nquota: {memory: 128 mb}", "128 mb", "did you mean `128MB`?", "128MB"),
    ("transform: x\nquota: {io: 10MB}", "10MB", "did you mean `10MB/s`?", "10MB/s"),
    ("transform: x\nquota: {cpu: 0}", "0", "a number from 0.01", ""),
    ("transform: x\npriority: 10", "10", "an integer from 0 to 9", ""),
    ("transform: x\ndescription: 5", "5", 'did you mean `"5"`?', '"5"'),
    ("foreach: {items: x, steps: {b: {transform: x}}}", "foreach", "no `max_items`", ""),
    ("foreach: {items: x, max_items: 1, steps: {}}", "{}", "no steps", ""),
    ("foreach: {items: x, max_items: 1, steps: {a: {transform: x}}}", "a", "the name of another", ""),
    ("foreach: {items: x, max_items: 1, steps: {compensate: {transform: x}}}", "compensate", "can't be named", ""),
    ("foreach: {items: x, max_items: 1, steps: {b: {transfrom: x}}}", "transfrom", "did you mean `transform`?", "transform"),
    ("repeat: {steps: {b: {transform: x}}, until: x, max: 0}", "0", "an integer from 1", ""),
]  # fmt: skip


@pytest.mark.parametrize(("body", "pointed", "said", "offered"), MISTAKES)
def test_one_mistake_is_one_finding_at_its_place(
    body: str, pointed: str, said: str, offered: str
) -> None:
    text = step(body)

    parsed = workflow(text)

    assert [it.message for it in parsed.findings if said not in it.message] == []
    (found,) = parsed.findings
    assert found.code == "DF002"
    assert under(found, text) == pointed
    assert [edit.text for fix in found.fixes for edit in fix.edits] == (
        [offered] if offered else []
    )
    assert found.path.startswith("/steps/a")
    assert "a" in parsed.broken


TOP = [
    (HEAD, "dagflow", "the workflow has no `steps`"),
    ("name: w\nsteps: {a: {transform: x}}\n", "name", "no `dagflow`"),
    ("dagflow: 1\nsteps: {a: {transform: x}}\n", "dagflow", "no `name`"),
    ("dagflow: 2\nname: w\nsteps: {a: {transform: x}}\n", "2", "takes only 1"),
    ("dagflow: 1\nnmae: w\nsteps: {a: {transform: x}}\n", "nmae", "did you mean `name`?"),
    (HEAD + "stpes: {a: {transform: x}}\n", "stpes", "did you mean `steps`?"),
    (HEAD + "steps: {}\n", "{}", "no steps"),
    (HEAD + "steps:\n", "steps", "no steps"),
    (HEAD + "steps: [a]\n", "[a]", "a mapping of names to steps"),
    (HEAD + "steps: {a: transform}\n", "transform", "not the word `transform`"),
    (HEAD + "steps: {a: }\n", "a", "has nothing in it"),
    (HEAD + "steps: {end: {transform: x}}\n", "end", "can't be named `end`"),
    (HEAD + "steps: {finally: {transform: x}}\n", "finally", "can't be named `finally`"),
    (HEAD + "steps: {é: {transform: x}}\n", "é", "did you mean `e`?"),
    (HEAD + "steps: {1a: {transform: x}}\n", "1a", "begins with '1'"),
    (HEAD + f"steps: {{{'a' * 64}: {{transform: x}}}}\n", "a" * 64, "64 characters"),
    (HEAD + "steps: {a: {transform: x}}\nfinally: {a: {transform: x}}\n", "a", "of another"),
    (HEAD + "steps: {a: {transform: x}}\nfinally: {b: {tool: a.b, compensate: {tool: a.c}}}\n", "compensate", "no `compensate`"),
    (HEAD + "steps: {a: {transform: x}}\ntimeout: 3s\n", "timeout", "under `defaults`"),
    (HEAD + "steps: {a: {transform: x}}\nversion: 1.10\n", "1.10", 'did you mean `"1.10"`?'),
    (HEAD + "steps: {a: {transform: x}}\nsecrets: [A, A]\n", "A", "the name of another"),
    (HEAD + "steps: {a: {transform: x}}\ntools: {t: {}}\n", "t", "none of `openapi` and `registry`"),
    (HEAD + "steps: {a: {transform: x}}\nmodels: {m: {url: x}}\n", "m", "no `model`"),
    (HEAD + "steps: {a: {transform: x}}\nmodels: {m: {route: x, api_key: y}}\n", "y", "nothing without `url`"),
    (HEAD + "steps: {a: {transform: x}}\ndeadline: 0s\n", "0s", "no time at all"),
    (HEAD + "steps: {a: {transform: x}}\nconcurrency: {group: g}\n", "concurrency", "no `limit`"),
    ("[a]", "[a]", "a workflow is a mapping, not a list"),
    ("", "", "the file is empty"),
    ("# only a comment\n", "", "the file is empty"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "pointed", "said"), TOP)
def test_one_mistake_at_the_top_is_one_finding(text: str, pointed: str, said: str) -> None:
    parsed = workflow(text)

    assert [it.message for it in parsed.findings if said not in it.message] == []
    (found,) = parsed.findings
    assert under(found, text) == pointed
    assert found.code == "DF002"


def test_names_that_differ_only_in_case_are_twins_and_show_both_places() -> None:
    parsed = workflow(steps("Load: {transform: x}\nload: {transform: x}\n"))

    (found,) = parsed.findings
    assert found.code == "DF001"
    assert place(found) == (5, 3)
    assert [it.span.line for it in found.related] == [4]
    assert parsed.broken == {"load"}


def test_every_problem_is_found_in_one_pass_in_the_order_of_the_file() -> None:
    text = HEAD + (
        "version: 1\n"
        "steps:\n"
        "  a: {transfrom: x, tiemout: 3s}\n"
        "  b: {llm: {prompt: p, temperature: hot}, retry: {attempts: x, backoff: 3}}\n"
        "  c: {transform: x}\n"
        "outptus: {}\n"
    )

    parsed = workflow(text)

    assert [it.span.line for it in parsed.findings] == [3, 5, 5, 6, 6, 6, 8]
    assert parsed.broken == {"a", "b"}
    assert parsed.workflow is not None
    assert [it.name.value for it in parsed.workflow.steps] == ["a", "b", "c"]


def test_a_misspelt_key_is_read_as_the_key_that_was_meant() -> None:
    parsed = workflow(step("transfrom: x + 1\ntmeout: 3s"))

    assert parsed.workflow is not None
    (found,) = parsed.workflow.steps
    assert found.kind.value == "transform"
    assert found.body.expression.value == "x + 1"
    assert found.timeout is not None


def test_a_step_that_cannot_be_read_is_named_as_broken_with_those_around_it() -> None:
    text = steps(
        "loop:\n  foreach:\n    items: x\n    max_items: 1\n    steps:\n"
        "      in: {wait: soon}\n      ok: {transform: x}\nother: {transform: x}"
    )

    parsed = workflow(text)

    assert parsed.broken == {"loop", "loop.in"}
    assert parsed.workflow is not None
    loop, other = parsed.workflow.steps
    assert [it.name.value for it in loop.body.steps] == ["ok"]
    assert other.name.value == "other"


def test_a_pointer_names_the_place_in_the_document() -> None:
    parsed = workflow(step("transform: x\nwith: {}\non_error: [{goto: b, 'x/y~': 1}]"))

    assert [it.path for it in parsed.findings] == ["/steps/a/on_error/0/x~1y~0"]


def test_aliases_may_share_what_steps_have_in_common() -> None:
    parsed = workflow(
        steps("a: {transform: x, retry: &r {attempts: 3}}\nb: {transform: x, retry: *r}")
    )

    assert parsed.findings == ()
    assert parsed.workflow is not None
    assert parsed.workflow.steps[1].retry == parsed.workflow.steps[0].retry


def test_two_hundred_steps_are_read_in_well_under_a_tenth_of_a_second() -> None:
    block = "".join(
        f"s{i}:\n  tool: helpdesk.getTicket\n  with: {{path: {{id: '${{{{ inputs.id }}}}'}}}}\n"
        f"  after: s{i - 1}\n  timeout: 5s\n  retry: {{attempts: 3, backoff: 200ms}}\n"
        "  output: {subject: string, severity: {enum: [low, high]}}\n"
        for i in range(1, 201)
    )
    text = steps(block)
    workflow(text)  # the libraries are loaded

    def once() -> float:
        began = time.process_time()
        assert workflow(text).findings == ()
        return time.process_time() - began

    assert (
        min(once() for _ in range(7)) < 0.25
    )  # about 0.08 s; processor time of a loaded machine is more
