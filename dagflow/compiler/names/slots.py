"""Where expressions and templates stand in a step, and what is asked of each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, Literal, TypeAlias

from dagflow.core.node import Node
from dagflow.core.records import dataclass
from dagflow.core.source import At
from dagflow.core.steps.approve import Approve
from dagflow.core.steps.fail import Fail
from dagflow.core.steps.foreach import Foreach
from dagflow.core.steps.llm import Llm
from dagflow.core.steps.repeat import Repeat
from dagflow.core.steps.shell import Shell
from dagflow.core.steps.switch import Switch
from dagflow.core.steps.transform import Transform
from dagflow.core.steps.wait import Wait
from dagflow.core.values import Schema
from dagflow.core.workflow import Step

Form: TypeAlias = Literal["value", "text", "argument"]
"""A template's form: any value, text only, or an item of `argv` (one whole value or fixed text)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bare:
    """A bare CEL expression: its name, what kind of place it is and the type it must have.

    `inner` tells that it sees the inner steps of its composite.
    """

    key: str
    where: str
    text: At[str]
    expected: Schema = True
    inner: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Templated:
    """A template: its name, what kind of place it is and its form."""

    key: str
    where: str
    node: Node
    form: Form = "value"


BOOLEAN: Final[Schema] = {"type": "boolean"}
LIST: Final[Schema] = {"type": "array"}


def bare(step: Step) -> Iterator[Bare]:
    """Yield the step's bare expressions, the guard first."""
    if step.when is not None:
        yield Bare(key="when", where="when", text=step.when, expected=BOOLEAN)
    of_kind = _BARE.get(step.kind.value)
    if of_kind is not None:
        yield from of_kind(step.body)


def templated(step: Step) -> Iterator[Templated]:
    """Yield the step's templates, `with` first."""
    if step.with_ is not None:
        yield Templated(key="with", where="with", node=step.with_)
    of_kind = _TEMPLATED.get(step.kind.value)
    if of_kind is not None:
        yield from of_kind(step.body)
    for index, handler in enumerate(step.on_error):
        if handler.continue_ is not None:
            yield Templated(key=f"on_error.{index}", where="on_error", node=handler.continue_)


def _transform(body: Transform) -> Iterator[Bare]:
    yield Bare(key="expression", where="body", text=body.expression)


def _switch(body: Switch) -> Iterator[Bare]:
    for index, branch in enumerate(body.branches):
        if branch.when is not None:
            key = f"branches.{index}"
            yield Bare(key=key, where="branches", text=branch.when, expected=BOOLEAN)


def _foreach(body: Foreach) -> Iterator[Bare]:
    yield Bare(key="items", where="items", text=body.items, expected=LIST)
    if body.collect is not None:
        yield Bare(key="collect", where="collect", text=body.collect, inner=True)


def _repeat(body: Repeat) -> Iterator[Bare]:
    yield Bare(key="until", where="until", text=body.until, expected=BOOLEAN, inner=True)
    if body.collect is not None:
        yield Bare(key="collect", where="collect", text=body.collect, inner=True)


_BARE: Final[Mapping[str, Callable[[Any], Iterator[Bare]]]] = {
    "transform": _transform,
    "switch": _switch,
    "foreach": _foreach,
    "repeat": _repeat,
}


def _llm(body: Llm) -> Iterator[Templated]:
    for name in ("system", "prompt"):
        node: Node | None = getattr(body, name)
        if node is not None:
            yield Templated(key=name, where="body", node=node, form="text")
    for index, message in enumerate(body.messages):
        key = f"messages.{index}"
        yield Templated(key=key, where="body", node=message.content, form="text")


def _shell(body: Shell) -> Iterator[Templated]:
    for index, argument in enumerate(body.argv):
        yield Templated(key=f"argv.{index}", where="body", node=argument, form="argument")
    if body.stdin is not None:
        yield Templated(key="stdin", where="body", node=body.stdin)


def _message(body: Approve | Fail) -> Iterator[Templated]:
    yield Templated(key="message", where="body", node=body.message, form="text")


def _wait(body: Wait) -> Iterator[Templated]:
    if body.until is not None:
        yield Templated(key="until", where="body", node=body.until, form="text")


_TEMPLATED: Final[Mapping[str, Callable[[Any], Iterator[Templated]]]] = {
    "llm": _llm,
    "shell": _shell,
    "approve": _message,
    "fail": _message,
    "wait": _wait,
}
