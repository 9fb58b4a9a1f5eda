"""Test files: text to cases, every problem in one pass, each at its place."""

from __future__ import annotations

from collections.abc import Mapping as AbstractMapping
from datetime import UTC, datetime
from typing import Any, Final

from dagflow.compiler.source.problems import SHAPE, Problems
from dagflow.compiler.source.records import below, read_slots, sort_out, table
from dagflow.compiler.source.shapes import read
from dagflow.compiler.source.spot import BAD, Bad, Context, Level, Spot
from dagflow.compiler.source.yaml import compose
from dagflow.core.findings import Finding, Fix, Related, Severity
from dagflow.core.node import Mapping
from dagflow.core.records import dataclass
from dagflow.core.shape import Alone
from dagflow.core.source import At, Source, Span
from dagflow.service.testing.cases import Answer, Case, CaseFile, Given, Sent

SLOTS: Final = table(CaseFile)
START: Final = datetime(2026, 1, 1, tzinfo=UTC)
FORMS: Final[AbstractMapping[str, tuple[str, ...]]] = {
    "output": (),
    "error": (),
    "status": ("headers", "body"),
    "text": (),
    "stdout": ("stderr", "exit_code"),
}
"""The forms of an answer by the key that stands for each, and the keys that go with it."""


@dataclass(frozen=True, slots=True)
class Read:
    """What could be read of a test file; None where nothing in it can be run."""

    file: CaseFile | None
    findings: tuple[Finding, ...]


def read_cases(source: Source) -> Read:
    """Read a test file. Never raises: what is wrong with the text is a finding."""
    composed = compose(source)
    problems = Problems(composed.findings)
    root = composed.root
    spot = Spot(Context(problems, _no_steps), "", "", Span(1, 1, 1, 1, source.name))
    spot = spot.step("", (), "the test file")
    if not isinstance(root, Mapping):
        if not problems.errors:
            said = "a test file is a mapping that begins with `dagflow_test: 1`"
            spot.bad(said, spot.span, "docs/testing.md shows one")
        return Read(None, problems.findings())
    first = root.entries[0][0].span if root.entries else root.span
    spot = spot._replace(span=first)
    entries = sort_out(root, SLOTS.keys(), spot, lambda: below(SLOTS.values()))
    values = read_slots(
        SLOTS.values(), entries, spot.inside(Level("the test file", SLOTS.keys())), read
    )
    file = None if values is None else CaseFile(**values, span=root.span)
    found = list(problems.findings())
    unread = [it.span for it in found]
    for given in _givens(file):
        found += [it for it in _demands(given) if not any(_holds(it.span, at) for at in unread)]
    found += _doubles(file)
    return Read(file, tuple(sorted(found, key=lambda it: (it.span, it.message))))


def _holds(span: Span, other: Span) -> bool:
    """Tell whether a place is inside of another: something there could not be read."""
    first, last = (span.line, span.column), (span.end_line, span.end_column)
    return first <= (other.line, other.column) < last


def _no_steps(_written: Any, _spot: Spot) -> Bad:
    return BAD


def _givens(file: CaseFile | None) -> list[Given]:
    if file is None:
        return []
    return [*([file.defaults] if file.defaults is not None else []), *file.cases]


def _demands(given: Given) -> list[Finding]:
    """Return what is wrong with a case beyond the shapes of its fields."""
    found: list[Finding] = []
    if given.clock is not None and _instant(given.clock.value) is None:
        said = f"`clock` is {given.clock.value!r}, which is no instant"
        found.append(trouble(said, given.clock.span, "write it with its zone, "
                             "like 2026-03-01T08:00:00Z"))  # fmt: skip
    if given.inputs is not None and not isinstance(given.inputs, Mapping):
        found.append(trouble("`inputs` is a mapping of names to values", given.inputs.span))
    for answers in (given.steps, given.tools, given.models):
        for key, several in answers:
            found += [it for answer in several for it in _form(key, answer, several)]
    for key, signals in given.signals:
        for sent in signals:
            if isinstance(sent, Sent) and sent.after is not None and sent.at is not None:
                said = f"the signal `{key.value}` has both `after` and `at`"
                found.append(trouble(said, sent.at.span, "`after` counts from when a step begins "
                                     "to wait for it, `at` from the start of the run"))  # fmt: skip
    return found


def instant_of(given: At[str] | None) -> datetime:
    """Return the instant at which a case begins."""
    found = None if given is None else _instant(given.value)
    return START if found is None else found


def _instant(text: str) -> datetime | None:
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return None if found.tzinfo is None else found.astimezone(UTC)


def _form(key: At[str], answer: Answer, among: tuple[Answer, ...]) -> list[Finding]:
    """Return what is wrong with the keys of an answer: it has one form, and no other's keys."""
    forms = [name for name in FORMS if getattr(answer, name) is not None]
    subject = f"the answer of `{key.value}`"
    if not forms:
        why = "say `output`, `error`, a tool's `status` and `body`, a model's `text` or `stdout`"
        return [trouble(f"{subject} says nothing", answer.span, why)]
    if len(forms) > 1:
        said = f"{subject} has both `{forms[0]}` and `{forms[1]}`"
        return [trouble(said, answer.span, "an attempt ends in one way: remove one of them")]
    found = []
    for form, with_it in FORMS.items():
        for name in with_it:
            if form != forms[0] and getattr(answer, name) is not None:
                said = f"{subject} has `{name}` without `{form}`"
                found.append(trouble(said, answer.span, f"add `{form}`, or remove `{name}`"))
    if answer.times is not None and isinstance(among, Alone):
        said = f"{subject} is given as often as it is asked for, so `times` says nothing"
        found.append(trouble(said, answer.times.span, "write it in a list: [{…, times: 3}]"))
    return found


def _doubles(file: CaseFile | None) -> list[Finding]:
    seen: dict[str, Case] = {}
    found = []
    for case in file.cases if file is not None else ():
        first = seen.setdefault(case.name.value, case)
        if first is not case:
            said = f"two cases are named {case.name.value!r}"
            related = (Related("the other one", first.name.span),)
            found.append(trouble(said, case.name.span, "rename one of them", related=related))
    return found


def trouble(
    message: str,
    span: Span,
    help: str = "",  # noqa: A002  # the finding's own word
    *,
    fixes: tuple[Fix, ...] = (),
    related: tuple[Related, ...] = (),
) -> Finding:
    """Return a finding about a test file."""
    return Finding(
        code=SHAPE, name="schema-shape", severity=Severity.ERROR, message=message, span=span,
        help=help, fixes=fixes, related=related,
    )  # fmt: skip
