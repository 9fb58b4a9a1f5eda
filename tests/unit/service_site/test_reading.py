"""Site files and histories: what is read, and what is said of mistakes."""

from __future__ import annotations

from pathlib import Path

import pytest

from dagflow.core.errors import UsageError
from dagflow.core.money import Price, PriceList
from dagflow.core.site import Load, Used, Window, WorkerClass
from dagflow.service.site.history import parse_history, write_history
from dagflow.service.site.reading import read_site

WHOLE = """\
dagflow_site: 1
workers:
  general: {count: 4, slots: 2, memory: 4GiB, cpu: 2, labels: [linux], queues: [default, quick]}
  plain: {}
loads:
  imports: {every: 1h, time: 10m, longest: 1m}
history: ./recorded.jsonl
"""


def test_a_site_file_is_read_with_the_history_that_it_names(tmp_path: Path) -> None:
    (tmp_path / "site.yaml").write_text(WHOLE)
    (tmp_path / "recorded.jsonl").write_text('{"at": "x", "steps": {"a.b": [1, 0.5]}}\n\n{}\n')

    site = read_site(str(tmp_path / "site.yaml"))

    assert site.workers == (
        WorkerClass(
            name="general", count=4, slots=2, memory=4 << 30, cpu=2.0, labels=("linux",),
            queues=("default", "quick"),
        ),
        WorkerClass(name="plain"),
    )  # fmt: skip
    assert site.loads == (
        Load(name="imports", every=3600.0, time=600.0, deadline=3600.0, longest=60.0),
    )
    assert site.history == (Window(steps={"a.b": (1.0, 0.5)}), Window())


def test_prices_are_of_a_token_and_a_call_in_whole_picos(tmp_path: Path) -> None:
    (tmp_path / "site.yaml").write_text(
        "dagflow_site: 1\n"
        "prices:\n"
        "  currency: EUR\n"
        "  models: {meta/large-3: {prompt: 0.15, answer: 0.6}}\n"
        "  tools: {billing.charge: 0.01, 'desk.GET /tickets/{id}': 0}\n"
    )

    assert read_site(str(tmp_path / "site.yaml")).prices == PriceList(
        currency="EUR",
        models={"meta/large-3": Price(prompt=150_000, answer=600_000)},
        tools={"billing.charge": 10_000_000_000, "desk.GET /tickets/{id}": 0},
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("dagflow_site: 1\nprices: {models: {a: {prompt: 1}}}", "`a` has no `answer`"),
        ("dagflow_site: 1\nprices: {tools: {a.b: -1}}", "site.yaml:2:23: `a.b`"),
        ("workers: {}", "the site file has no `dagflow_site`"),
        ("dagflow_site: 1\nworkers: {a: {coutn: 2}}", "site.yaml:2:15: `a` has no key `coutn`"),
        (
            "dagflow_site: 1\nworkers: {a: {memory: lots}}",
            "site.yaml:2:23: `memory`: 'lots' is no size in bytes",
        ),
        ("dagflow_site: 1\nloads: {a: {every: 1h}}", "`a` has no `time`"),
        ("dagflow_site: 1\nhistory: none.jsonl", "none.jsonl can't be read"),
        ("[1]", "a site file is a mapping"),
        ("a: [", "site.yaml:1:"),
    ],
)
def test_a_mistake_is_told_with_its_place(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "site.yaml").write_text(text)

    with pytest.raises(UsageError) as caught:
        read_site(str(tmp_path / "site.yaml"))

    assert message in caught.value.message


def test_a_file_that_is_not_there_is_told() -> None:
    with pytest.raises(UsageError, match="No such file"):
        read_site("nowhere.yaml")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("nothing", "h.jsonl:2: no JSON"),
        ("[]", "h.jsonl:2: a window is an object"),
        ('{"stepps": {}}', "h.jsonl:2: a window has no key 'stepps'"),
        ('{"steps": []}', "h.jsonl:2: `steps` is an object of names and lists of seconds"),
        ('{"steps": {"a.b": [1, -1]}}', "h.jsonl:2: `steps.a.b` is a list of seconds"),
        ('{"steps": {"a.b": [true]}}', "h.jsonl:2: `steps.a.b` is a list of seconds"),
        ('{"used": {"a.b": [1]}}', "h.jsonl:2: `used.a.b` is an object with runs, ran, calls"),
        ('{"used": {"a.b": {"runs": 1, "ran": -1}}}', "`used.a.b` has whole numbers"),
        ('{"used": {"a.b": {"ran": 1}}}', "h.jsonl:2: `used.a.b` is of 1 run or more"),
        ('{"used": {"a.b": {"runs": 1, "prompt_tokens": 2, "tokens": 1}}}', "`prompt_tokens`"),
        ('{"steps": {"a.b": [NaN]}}', "h.jsonl:2: `steps.a.b` is a list of seconds"),
    ],
)
def test_a_mistake_in_a_history_is_told_with_its_line(line: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_history(f"{{}}\n{line}\n", "h.jsonl")

    assert message in caught.value.message


def test_a_history_is_read_as_it_was_written() -> None:
    used = {"a.b": Used(runs=3, ran=2, tokens=40, prompt_tokens=30), "a.c": Used(runs=3)}
    windows = (Window(steps={"a.b": (0.25, 1.0)}, waits={"default": (0.0,)}, used=used), Window())

    text = write_history([("2026-03-01T08:00:00Z", window) for window in windows])

    assert parse_history(text, "h.jsonl") == windows
    assert text.splitlines()[1] == '{"at":"2026-03-01T08:00:00Z"}'
