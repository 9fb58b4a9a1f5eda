"""`shell`: a program in a sandbox; values only as whole arguments or on stdin."""

from __future__ import annotations

from datetime import timedelta

from dagflow.core.node import Node
from dagflow.core.records import dataclass
from dagflow.core.shape import Bool, Choice, ListOf, Template, shaped
from dagflow.core.source import NOWHERE, At, Span
from dagflow.core.steps.kind import StepKind


@dataclass(frozen=True, slots=True, kw_only=True)
class Shell:
    """`shell: [prog, arg, "${{ … }}"]`; an argument is one whole value or fixed text."""

    argv: tuple[Node, ...] = shaped(
        ListOf(Template(text=True), minimum=1), "program and arguments, no shell in between"
    )
    stdin: Node | None = shaped(Template(), "what the program reads (text, or JSON)", default=None)
    parse: At[str] | None = shaped(
        Choice(("text", "json", "lines")),
        "the output is stdout as text, JSON or lines (default: {exit_code, stdout, stderr})",
        default=None,
    )
    network: At[bool] | None = shaped(Bool(), "may use the network", default=None)
    span: Span = NOWHERE


KIND = StepKind("shell", Shell, "argv", "idempotent", "act", timedelta(seconds=60), sandboxed=True)
