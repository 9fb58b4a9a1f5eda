"""Compares what a run came to with what its case expects."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from itertools import islice
from typing import Final

from dagflow.core.node import Node
from dagflow.core.references import resolved
from dagflow.core.run import Run, StepFailure, StepRecord
from dagflow.core.source import At
from dagflow.core.text import counted
from dagflow.core.values import JsonValue
from dagflow.core.words import listed
from dagflow.service.testing.cases import Case, Expect, ExpectedError, ExpectedStep
from dagflow.service.testing.difference import differences, shown
from dagflow.service.testing.failure import Failure
from dagflow.service.testing.paths import order_of, selector
from dagflow.service.testing.stage import Played
from dagflow.service.testing.subject import Subject
from dagflow.service.testing.trace import Trace
from dagflow.service.views import split_label, went_well

MOST: Final = 5
"""Differences told of one value."""
PENDING: Final = StepRecord(path="")


def unmet(case: Case, played: Played, subject: Subject) -> Iterator[Failure]:
    """Yield what went otherwise than a case expects, the run before its parts."""
    expect = case.expect
    yield from _status(case, played.run)
    if expect.error is not None and played.run.error is not None:
        yield from _error("the run", expect.error, played.run.error)
    if expect.path is not None:
        yield from _path(expect, played)
    for key, step in expect.steps:
        yield from _step(key, step, played)
    outputs = played.run.outputs
    for key, value in expect.outputs:
        if isinstance(outputs, dict) and key.value in outputs:
            yield from _value(f"output `{key.value}`", value, outputs[key.value])
    for key, times in expect.calls:
        ids = subject.operations.get(key.value, frozenset({key.value}))
        made = sum(played.trace.calls[it] for it in ids)
        if made != times.value:
            yield Failure(f"tool `{key.value}` was called otherwise", times.span,
                          counted(times.value, "call"), counted(made, "call"))  # fmt: skip
    if expect.within is not None and played.took > expect.within.value:
        most, took = span_text(expect.within.value), span_text(played.took)
        yield Failure("the run took longer", expect.within.span, f"at most {most}", took)


def _status(case: Case, run: Run) -> Iterator[Failure]:
    expect = case.expect
    wanted = "succeeded" if expect.error is None else "failed"
    place = case.name.span if expect.error is None else expect.error.span
    if expect.status is not None:
        wanted, place = expect.status.value, expect.status.span
    elif expect.error is not None and run.state.value == "timed_out":
        return  # it says how the run failed, and that is compared
    if run.state.value != wanted:
        said = run.state.value
        got = f"{said}: {failure_text(run.error)}" if run.error is not None else said
        yield Failure("the run ended otherwise", place, wanted, got)


def _error(subject: str, wanted: ExpectedError, got: StepFailure | None) -> Iterator[Failure]:
    if got is None:
        yield Failure(
            f"{subject} did not fail", wanted.class_.span, wanted.class_.value, "no error"
        )
    elif got.error_class != wanted.class_.value:
        yield Failure(f"{subject} failed otherwise", wanted.class_.span, wanted.class_.value,
                      failure_text(got))  # fmt: skip
    elif wanted.message is not None and wanted.message.value not in got.message:
        message = f"a message with {shown(wanted.message.value)}"
        said = f"{subject} failed with another message"
        yield Failure(said, wanted.message.span, message, shown(got.message))


def failure_text(error: StepFailure) -> str:
    """Write a failure on one line."""
    return f"{error.error_class}: {error.message}"


def top_of(trace: Trace) -> list[str]:
    """Return the steps of the root run's top that began, in order, compensations among them."""
    return [
        path for path in trace.began
        if "/" not in path and "." not in path.removesuffix(".compensate")
    ]  # fmt: skip


def _path(expect: Expect, played: Played) -> Iterator[Failure]:
    got = top_of(played.trace)
    groups = expect.path or ()
    at = 0
    for group in groups:
        names = sorted(it.value for it in group)
        here = got[at : at + len(names)]
        if sorted(here) != names:
            wanted = next((it for it in group if it.value not in here), group[0])
            yield _other_path(expect, got, wanted, here)
            return
        at += len(names)
    if at < len(got):
        last = groups[-1][-1] if groups else None
        place = last.span if last is not None else expect.span
        said = f"the run went on, to `{got[at]}`"
        yield Failure(said, place, _arrows(expect), " → ".join(got))


def _other_path(expect: Expect, got: list[str], wanted: At[str], here: list[str]) -> Failure:
    instead = f"`{listed(here, last='and')}` came instead" if here else "the run was over"
    said = f"the run did not come to `{wanted.value}` there: {instead}"
    return Failure(said, wanted.span, _arrows(expect), " → ".join(got) or "no step began")


def _arrows(expect: Expect) -> str:
    groups = [
        names[0] if len(names) == 1 else f"({', '.join(names)})"
        for names in ([it.value for it in group] for group in expect.path or ())
    ]
    return " → ".join(groups) or "no step"


def _step(key: At[str], wanted: ExpectedStep, played: Played) -> Iterator[Failure]:
    chosen = selector(key.value)
    assert chosen is not None, "it was looked at when the file was read"
    found = {path: it for path, it in played.records.items() if chosen.picks(path)}
    for path in sorted(found or [key.value], key=lambda it: (order_of(it), it)):
        failures = list(_of_step(path, wanted, found.get(path, PENDING)))
        if failures:
            yield from failures
            return  # of a loop, the first item that is otherwise says enough


def _of_step(path: str, wanted: ExpectedStep, record: StepRecord) -> Iterator[Failure]:
    status, reason = split_label(record.state)
    reason = "recovered" if record.recovered else reason
    subject = f"step `{path}`"
    if wanted.status is not None and wanted.status.value != status:
        yield Failure(f"{subject} ended otherwise", wanted.status.span, wanted.status.value,
                      _state(record))  # fmt: skip
        return
    if wanted.reason is not None and wanted.reason.value != reason:
        got = _state(record)
        yield Failure(
            f"{subject} ended for another reason", wanted.reason.span, wanted.reason.value, got
        )
    if wanted.attempts is not None and wanted.attempts.value != record.attempt:
        yield Failure(f"{subject} was tried otherwise", wanted.attempts.span,
                      counted(wanted.attempts.value, "attempt"),
                      counted(record.attempt, "attempt"))  # fmt: skip
    if wanted.error is not None:
        error = None if went_well(record) else record.error
        yield from _error(subject, wanted.error, error)
    if wanted.output is not None:
        if record.has_output:
            yield from _value(f"the output of {subject}", wanted.output, record.output)
        else:
            yield Failure(
                f"{subject} has no output", wanted.output.span, "an output", _state(record)
            )
    yield from _input(subject, wanted, record.input)


def _state(record: StepRecord) -> str:
    error = record.error
    if error is None or went_well(record):
        return record.state
    return f"{record.state}: {failure_text(error)}"


def _input(subject: str, wanted: ExpectedStep, given: JsonValue) -> Iterator[Failure]:
    recorded = given if isinstance(given, dict) else {}
    if wanted.with_ is not None:
        said = resolved(recorded.get("with"), "${{{{ secrets.{} }}}}".format)
        yield from _value(f"the `with` of {subject}", wanted.with_, said)
    if wanted.asked is not None:
        said = _asked(recorded.get("body"))
        if wanted.asked.value not in said:
            yield Failure(f"{subject} was not asked that", wanted.asked.span,
                          f"a text with {shown(wanted.asked.value)}", shown(said))  # fmt: skip


def _asked(body: JsonValue) -> str:
    """Return the text of a prompt with its system message, or of an approval's question."""
    found = body if isinstance(body, dict) else {}
    messages = found.get("messages")
    if isinstance(messages, list):
        return "\n".join(str(it["content"]) for it in messages if isinstance(it, dict))
    return str(found.get("message") or "")


def _value(subject: str, wanted: Node, got: JsonValue) -> Iterator[Failure]:
    found = list(islice(differences(wanted, got), MOST + 1))
    for index, it in enumerate(found[:MOST]):
        at = f" at {it.pointer}" if it.pointer else ""
        more = "there are more differences" if index == MOST - 1 and len(found) > MOST else ""
        yield Failure(f"{subject} differs{at}", it.span, it.expected, it.got, it.hint or more)


def span_text(span: timedelta) -> str:
    """Write a duration as a workflow does: 1h30m, 250ms."""
    left = round(span.total_seconds() * 1000)
    parts = []
    for unit, size in (("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1)):
        number, left = divmod(left, size)
        if number:
            parts.append(f"{number}{unit}")
    return "".join(parts) or "0s"
