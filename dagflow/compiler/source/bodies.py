"""What the body of each step kind asks beyond the shapes of its fields."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from dagflow.compiler.source.problems import listed
from dagflow.compiler.source.spot import Spot
from dagflow.core.findings import Related
from dagflow.core.node import Scalar
from dagflow.core.source import At, Span
from dagflow.core.steps.approve import Approve
from dagflow.core.steps.llm import Llm
from dagflow.core.steps.switch import END, Branch, Switch
from dagflow.core.steps.wait import Wait
from dagflow.core.steps.workflow import SubWorkflow
from dagflow.core.workflow import ModelRef, Step, ToolRef

POSITIVE: Final = ("timeout", "deadline", "expires", "ttl")


def positive(record: Any, spot: Spot) -> None:
    """Refuse bounds of no time at all."""
    for name in POSITIVE:
        bound = getattr(record, name, None)
        if bound is not None and bound.value <= timedelta(0):
            at = spot.child(name, name, bound.span)
            at.bad(
                f"`{name}` leaves no time at all", bound.span, "write at least 1ms, or remove it"
            )


def exactly_one(given: Mapping[str, Span | None], spot: Spot, why: str) -> bool:
    """Refuse a mapping that has not just one of these keys."""
    present = {name: span for name, span in given.items() if span is not None}
    if len(present) == 1:
        return True
    if not present:
        spot.bad(f"`{spot.label}` has none of {listed(list(given), 'and')}", spot.span, why)
        return False
    (first, place), (second, span), *_ = present.items()
    related = (Related(f"`{first}` is here", place),)
    said = f"`{spot.label}` has both `{first}` and `{second}`"
    spot.child(second, second, span).bad(said, span, why, related=related)
    return False


def _of(value: Any) -> Span | None:
    if isinstance(value, tuple):
        return value[0].span if value else None
    return None if value is None else value.span


def _needs(body: Any, key: str, wanted: str, spot: Spot) -> None:
    """Refuse `key` without `wanted`."""
    value = getattr(body, key)
    if value is not None and getattr(body, wanted) is None:
        at = spot.child(key, key, value.span)
        said = f"`{key}` says nothing without `{wanted}`"
        at.bad(said, value.span, f"add `{wanted}`, or remove `{key}`")


def llm(body: Llm, spot: Spot) -> None:
    """Ask for a prompt or messages."""
    why = "`prompt` (with `system`) is one question, `messages` a whole chat"
    if exactly_one({"prompt": _of(body.prompt), "messages": _of(body.messages)}, spot, why):
        _needs(body, "system", "prompt", spot)


def wait(body: Wait, spot: Spot) -> None:
    """Ask for one thing to wait for."""
    given = {"for": _of(body.for_), "until": _of(body.until), "signal": _of(body.signal)}
    why = "wait `for` a duration, `until` an instant, or for a `signal`"
    if exactly_one(given, spot, why):
        _needs(body, "expires", "signal", spot)
    if isinstance(body.until, Scalar) and "${{" not in str(body.until.value):
        _instant(body.until, spot)


def _instant(node: Scalar, spot: Spot) -> None:
    try:
        known = datetime.fromisoformat(str(node.value))
    except ValueError:
        known = None
    if known is None or known.tzinfo is None:
        at = spot.child("until", "until", node.span)
        said = f"`{node.value}` is no instant"
        at.bad(said, node.span, "write it with its zone, like 2026-03-01T08:00:00Z")


def sub_workflow(body: SubWorkflow, spot: Spot) -> None:
    """Ask for a file or a registered name."""
    why = "`file` is a path from this file, `name` a registered workflow"
    if exactly_one({"file": _of(body.file), "name": _of(body.name)}, spot, why):
        _needs(body, "version", "name", spot)


def approve(body: Approve, spot: Spot) -> None:
    """Ask for an expiry where something is said about it."""
    _needs(body, "on_expiry", "expires", spot)


def switch(body: Switch, spot: Spot) -> None:
    """Ask each branch for a condition and a target; `else` only once, and last."""
    for index, branch in enumerate(body.branches):
        _branch(branch, spot.child(index, f"branch {index}", branch.span))
    others = [index for index, branch in enumerate(body.branches) if branch.else_]
    for index in others[1:]:
        related = (Related("the first `else` is here", body.branches[others[0]].span),)
        place = body.branches[index].else_[0].span
        spot.child(index, "else", place).bad(
            "a switch has one `else`", place, "remove one of them", related=related
        )
    if len(others) == 1 and others[0] != len(body.branches) - 1:
        place = body.branches[others[0]].else_[0].span
        said = "`else` is the last branch; those after it can never be taken"
        spot.child(others[0], "else", place).bad(said, place, "move it to the end")


def _branch(branch: Branch, at: Spot) -> None:
    why = "a branch is `{when: <expression>, then: step}`, and the last may be `{else: step}`"
    if branch.else_:
        extra = branch.when or (branch.then[0] if branch.then else None)
        if extra is not None:
            key = "when" if branch.when is not None else "then"
            at.bad(f"a branch with `else` has no `{key}`", extra.span, why)
    elif branch.when is None:
        at.bad("a branch has no `when`", branch.span, why)
    elif not branch.then:
        at.bad("a branch has no `then`", branch.span, why)
    for targets in (branch.then, branch.else_):
        _targets(targets, at)


def _targets(targets: tuple[At[str], ...], at: Spot) -> None:
    end = next((it for it in targets if it.value == END), None)
    if end is not None and len(targets) > 1:
        at.bad(f"`{END}` stands alone: it means that nothing more follows", end.span)
    seen: dict[str, At[str]] = {}
    for target in targets:
        first = seen.setdefault(target.value, target)
        if first is not target:
            related = (Related("it is first named here", first.span),)
            at.bad(f"`{target.value}` is named twice", target.span, "remove one", related=related)


DEMANDS: Final[Mapping[str, Callable[[Any, Spot], None]]] = {
    "llm": llm, "wait": wait, "workflow": sub_workflow, "approve": approve, "switch": switch,
}  # fmt: skip


def handlers(step: Step, spot: Spot) -> None:
    """Ask each `on_error` entry for exactly one action."""
    for index, handler in enumerate(step.on_error):
        at = spot.child("on_error", "on_error", handler.span).child(index, "on_error", handler.span)
        why = "`continue` succeeds with a value, `goto` goes on with a later step"
        given = {"continue": _of(handler.continue_), "goto": _of(handler.goto)}
        exactly_one(given, at, why)
        earlier = next((h for h in step.on_error[:index] if not h.on), None)
        if earlier is not None:
            related = (Related("this entry handles every class", earlier.span),)
            said = "no failure reaches this entry"
            at.bad(said, handler.span, "put it before the one for every class", related=related)


def tool_ref(body: ToolRef, spot: Spot) -> None:
    """Ask for a document or a registered tool."""
    why = "`openapi` is a path from this file, `registry` a registered tool"
    given = {"openapi": _of(body.openapi), "registry": _of(body.registry)}
    exactly_one(given, spot, why)


def model_ref(body: ModelRef, spot: Spot) -> None:
    """Ask for a route or a server."""
    why = "`route` is `local` or a configured route, `url` an OpenAI-compatible server"
    if exactly_one({"route": _of(body.route), "url": _of(body.url)}, spot, why):
        _needs(body, "api_key", "url", spot)
        if body.url is not None and body.model is None:
            spot.bad(f"`{spot.label}` has no `model`", spot.span, "name the model at that `url`")
