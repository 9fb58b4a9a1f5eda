"""Does a test file fit its workflow: its names are names there, of the right kinds."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from collections.abc import Set as AbstractSet
from typing import Final

from dagflow.core.findings import Edit, Finding, Fix
from dagflow.core.plan import PlanStep, steps_of
from dagflow.core.source import At
from dagflow.core.words import closest, listed
from dagflow.service.testing.cases import Answer, Case, CaseFile, Given
from dagflow.service.testing.coverage import name, parts_of
from dagflow.service.testing.paths import selector
from dagflow.service.testing.reading import trouble
from dagflow.service.testing.script import ALL, CODE, SCRIPTED
from dagflow.service.testing.subject import Subject

OWNERS: Final = {
    "status": frozenset({"tool"}),
    "text": frozenset({"llm"}),
    "tokens": frozenset({"llm"}),
    "stdout": frozenset({"shell"}),
}
"""Keys of an answer that only steps of some kinds can give."""

INSTEAD: Final = {
    "transform": "its value is worked out; script what it reads",
    "switch": "its branch is chosen by its guards; script what they read",
    "foreach": "script the steps in it: `{0}.STEP`",
    "repeat": "script the steps in it: `{0}.STEP`",
    "approve": "a person answers it: write it under `approvals`",
    "wait": "the clock jumps over it; a signal is sent under `signals`",
    "fail": "it always fails",
}


def misfits(file: CaseFile, subject: Subject) -> tuple[Finding, ...]:
    """Return what a test file says of steps, tools, models and signals that the plan has not."""
    found: list[Finding] = []
    if file.defaults is not None:
        found += _given(file.defaults, subject)
    for case in file.cases:
        found += [*_given(case, subject), *_expected(case, subject)]
    parts = {name(*part) for step in steps_of(subject.plan) for part in parts_of(step)}
    for key in file.not_reached:
        found += _known(key, parts, "part", "")
    return tuple(sorted(found, key=lambda it: (it.span, it.message)))


def _given(given: Given, subject: Subject) -> Iterator[Finding]:
    for key, answers in given.steps:
        step = yield from _step(key, subject)
        if step is not None and step.kind not in SCRIPTED:
            said = f"step `{key.value}` is of kind {step.kind} and takes no answers"
            yield trouble(said, key.span, INSTEAD[step.kind].format(key.value))
        elif step is not None:
            yield from _of_kind(key, answers, step.kind)
    for key, answers in given.tools:
        yield from _known(key, subject.operations.keys(), "operation of a tool", "")
        yield from _of_kind(key, answers, "tool")
    for key, answers in given.models:
        yield from _known(key, subject.models, "model that a step asks", "")
        yield from _of_kind(key, answers, "llm")
    for key, _ in given.approvals:
        yield from _only(key, subject, frozenset({"approve"}), "asks nobody")
    for key, _ in given.signals:
        yield from _known(key, subject.signals, "signal that a step waits for", "")
    for key, _ in given.settle:
        yield from _only(
            key, subject, frozenset({"tool", "python", "shell", "llm"}), "leaves no outcome unknown"
        )
    for key in given.real:
        if key.value != ALL:
            yield from _only(key, subject, CODE, "has no code to run")


def _of_kind(key: At[str], answers: Iterable[Answer], kind: str) -> Iterator[Finding]:
    for answer in answers:
        for part, kinds in OWNERS.items():
            if getattr(answer, part) is not None and kind not in kinds:
                said = (
                    f"`{key.value}` is of kind {kind}, and `{part}` is for {listed(sorted(kinds))}"
                )
                yield trouble(said, answer.span, "every kind may answer with `output` or `error`")


def _expected(case: Case, subject: Subject) -> Iterator[Finding]:
    expect = case.expect
    for group in expect.path or ():
        for key in group:
            yield from _step(key, subject, top=True)
    for key, _ in expect.steps:
        yield from _step(key, subject)
    for key, _ in expect.calls:
        yield from _known(key, subject.operations.keys(), "operation of a tool", "")
    schema = subject.plan.outputs
    for key, _ in expect.outputs:
        yield from _known(key, {name for name, _ in schema}, "output", "")


def _only(key: At[str], subject: Subject, kinds: AbstractSet[str], but: str) -> Iterator[Finding]:
    step = yield from _step(key, subject)
    if step is not None and step.kind not in kinds:
        said = f"step `{key.value}` is of kind {step.kind} and {but}"
        known = [path for path, it in subject.steps.items() if it.kind in kinds]
        yield trouble(said, key.span, f"there are {listed(known, last='and')}" if known else "")


def _step(
    key: At[str], subject: Subject, *, top: bool = False
) -> Generator[Finding, None, PlanStep | None]:
    chosen = selector(key.value)
    static = key.value if chosen is None else chosen.static
    known = [path for path in subject.steps if not top or _is_top(path)]
    if chosen is not None and static in known:
        return subject.steps[static]
    if static in subject.merged:
        other = subject.merged[static]
        said = f"step `{key.value}` does what `{other}` does, and became one with it"
        fixes = (Fix(f"write `{other}`", (Edit(key.span, other),)),)
        yield trouble(said, key.span, f"expect it of `{other}`", fixes=fixes)
    elif static in subject.pruned:
        said = f"step `{key.value}` was pruned: no run shows it"
        yield trouble(said, key.span, "`dagflow check` says why")
    elif top and static in subject.steps:
        said = f"`{key.value}` stands inside of another step, and the path has those of the top"
        yield trouble(said, key.span, "expect something of it under `steps`")
    else:
        yield from _known(key, known, "step", static)
    return None


def _is_top(path: str) -> bool:
    return "/" not in path and path.removesuffix(".compensate").count(".") == 0


def _known(key: At[str], known: Iterable[str], what: str, static: str) -> Iterator[Finding]:
    names = sorted(known)
    if key.value in names:
        return
    near = closest(static or key.value, names)
    suffix = f"; did you mean `{near}`?" if near else ""
    fixes = (Fix(f"write `{near}`", (Edit(key.span, near),)),) if near else ()
    help_ = "" if near or not names else f"there is {listed(names, last='and')}"
    article = "an" if what[0] in "aeiou" else "a"
    yield trouble(
        f"the workflow has no {what} `{key.value}`{suffix}" if names else
        f"`{key.value}` is {article} {what}, and the workflow has none",
        key.span, help_, fixes=fixes,
    )  # fmt: skip
