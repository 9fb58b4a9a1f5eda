"""What the parts of the check need of the walk they are part of."""

from __future__ import annotations

from typing import Protocol, TypeAlias

from dagflow.expr.ast import Node
from dagflow.expr.problem import ProblemKind
from dagflow.expr.types import Type

Typed: TypeAlias = tuple[Node, Type]


class Walk(Protocol):
    """One walk over one expression."""

    text: str
    keys_of: dict[str, tuple[str, ...]]

    def visit(self, node: Node) -> Typed:
        """Return the lowered node and its type."""
        ...

    def operand(self, node: Node) -> Typed:
        """Do the same for what a field is read of, without recording the read."""
        ...

    def names(self) -> tuple[str, ...]:
        """Return the variables in scope."""
        ...

    def shown(self, node: Node) -> str:
        """Return the author's text of a node, quoted."""
        ...

    def fail(
        self,
        kind: ProblemKind,
        node: Node,
        message: str,
        help_: str = "",
        fix: tuple[int, int, str] | None = None,
    ) -> Type:
        """Report a problem at a node, and return the type that silences others."""
        ...

    def warn(self, node: Node, message: str, help_: str = "") -> None:
        """Report that an operation may fail when it runs."""
        ...

    def solid(self, node: Node, found: Type, what: str = "") -> Type:
        """Return the type without null, reporting that it may be null."""
        ...

    def opened(self, node: Node, found: Type) -> Type:
        """Return what an optional holds, reporting what isn't one."""
        ...
