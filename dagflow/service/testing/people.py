"""What people and other systems do in a case: answer approvals, send signals, settle, cancel."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from typing import Final

from dagflow.core.node import plain
from dagflow.core.records import dataclass
from dagflow.core.run import Cancel, Decide, Event, Settle, Signal, StepRecord
from dagflow.core.source import At
from dagflow.core.values import JsonValue
from dagflow.service.testing.cases import Sent
from dagflow.service.testing.failure import FailedError, Failure
from dagflow.service.testing.script import Script, picked
from dagflow.service.testing.trace import Question

NOW: Final = timedelta(0)
TESTER: Final = "tester"
OTHERWISE: Final = {"approvals": "never", "signals": "never", "settle": "not_done"}
"""What a case says where nobody does anything, or a step was not done."""


@dataclass(frozen=True, slots=True)
class Act:
    """Something that is done after a time; `said` is what to say where it is refused."""

    event: Event
    after: timedelta
    said: Failure


class People:
    """Who acts on the runs of a case, as its script says."""

    def __init__(self, script: Script) -> None:
        self._script = script
        self._sent: set[str] = set()
        self._answers: Mapping[str, Callable[[Question, StepRecord], Act | None]] = {
            "waiting(approval)": self._decide,
            "waiting(signal)": self._signal,
            "waiting(unknown_outcome)": self._settle,
        }

    def unasked(self) -> Iterator[Act]:
        """Yield what is done at times after the start, whatever the run does."""
        cancel = self._script.cancel
        if cancel is not None:
            yield Act(
                Cancel(by=TESTER), cancel.value, Failure("the run was not cancelled", cancel.span)
            )
        for entry in self._script.signals:
            timed = [it for it in entry.items if isinstance(it, Sent) and it.at is not None]
            entry.items = tuple(it for it in entry.items if it not in timed)
            for sent in timed:
                assert sent.at is not None
                self._sent.add(entry.key.value)
                yield _sending(entry.key, sent, sent.at.value)

    def act(self, question: Question, record: StepRecord) -> Act | None:
        """Return what somebody does about a step that waits, or None where nobody does anything.

        Raises `FailedError` where the script does not say.
        """
        return self._answers[question.state](question, record)

    def _decide(self, question: Question, record: StepRecord) -> Act | None:
        entry = picked(self._script.approvals, question.whole)
        if entry is None:
            raise self._silent(question, "approvals", "asks for an approval", "approve")
        given = entry.take()
        if given.decision.value == "never":
            return None
        event = Decide(
            path=question.path,
            approve=given.decision.value == "approve",
            by=given.by.value if given.by is not None else TESTER,
            comment=given.comment.value if given.comment is not None else "",
            arguments=str(record.data["hash"]),
        )
        said = f"the answer to approval `{question.whole}` was refused"
        return Act(event, _after(given.after), Failure(said, given.span))

    def _signal(self, question: Question, record: StepRecord) -> Act | None:
        name = str(record.data["signal"])
        entry = next((it for it in self._script.signals if it.key.value == name), None)
        if entry is None:
            what = f"waits for the signal `{name}`"
            raise self._silent(question, "signals", what, "{payload: …}", name)
        if not entry.items:
            return None  # it was sent at a time of its own
        sent = entry.take()
        return _sending(entry.key, sent, _after(sent.after)) if isinstance(sent, Sent) else None

    def _settle(self, question: Question, record: StepRecord) -> Act | None:
        entry = picked(self._script.settle, question.whole)
        if entry is None:
            why = f"may have had its effect ({record.error.error_class})" if record.error else ""
            what = f"{why}, and waits for a person to settle that"
            raise self._silent(question, "settle", what, "done")
        given = entry.take()
        output = None if given.output is None else plain(given.output)
        done = given.outcome.value == "done"
        event = Settle(path=question.path, succeeded=done, output=output, by=TESTER)
        said = f"what is settled of step `{question.whole}` was refused"
        return Act(event, _after(given.after), Failure(said, given.span))

    def _silent(
        self, question: Question, key: str, what: str, how: str, name: str = ""
    ) -> FailedError:
        said = f"step `{question.whole}` {what}, and the case does not say what happens"
        help_ = f"under `{key}`: `{name or question.whole}: {how}` or `{OTHERWISE[key]}`"
        return FailedError(Failure(said, self._script.case.name.span, help=help_))


def _after(given: At[timedelta] | None) -> timedelta:
    return NOW if given is None else given.value


def _sending(key: At[str], sent: Sent, after: timedelta) -> Act:
    payload: JsonValue = None if sent.payload is None else plain(sent.payload)
    said = Failure(f"the signal `{key.value}` was refused", sent.span)
    return Act(Signal(name=key.value, payload=payload), after, said)
