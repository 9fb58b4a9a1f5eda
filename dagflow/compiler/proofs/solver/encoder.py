"""What the parts of the encoding share: the unknowns, names for them, and the way back in."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from dagflow.compiler.proofs.solver.operators import Operators
from dagflow.compiler.proofs.solver.shapes import Environment, Logic, Sym
from dagflow.compiler.proofs.solver.variables import Root, Variables
from dagflow.core.values import canonical
from dagflow.expr.ast import Node, to_json, without_places

MOST: Final = 2_000
"""How many sub-expressions one question may come to, with the turns of its loops."""


class TooLargeError(Exception):
    """The question is larger than it may be."""


class Encoder(ABC):
    """One question's encoding. `place` tells apart what loops make of one sub-expression."""

    def __init__(self, variables: Variables, root: Root) -> None:
        self.variables = variables
        self.root = root
        self.place = ""
        self._left = MOST

    def count(self) -> None:
        """Count one sub-expression more; raises `TooLargeError` when there are too many."""
        self._left -= 1
        if self._left < 0:
            raise TooLargeError

    @property
    def logic(self) -> Logic:
        """Return the connectives."""
        return self.variables.logic

    @abstractmethod
    def encode(self, node: Node, names: Environment) -> Sym:
        """Return what an expression can be."""

    @contextmanager
    def inside(self, place: str) -> Iterator[None]:
        """Encode what stands under a name, which may mean something else elsewhere."""
        before, self.place = self.place, f"{self.place}/{place}"
        yield
        self.place = before

    def unknown(self, node: Node, kinds: tuple[str, ...] = ()) -> Sym:
        """Return a value that nothing is known of: the same for the same expression."""
        return self.variables.opaque(self.name_of(node), kinds)

    def name_of(self, node: Node) -> str:
        """Return a name that the same expression has at the same turn of the loops around it."""
        return f"{text_of(node)}{self.place}"

    def operators(self, node: Node) -> Operators:
        """Return the operators, for what they leave unknown in an expression."""
        return Operators(self.variables, self.name_of(node))


def text_of(node: Node) -> str:
    """Return the same text for the same expression, wherever it stands."""
    return canonical(without_places(to_json(node))).decode()
