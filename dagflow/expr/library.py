"""The one door to the CEL library: its environment, its parser and its planner."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Protocol

from dagflow.core.values import JsonValue


class CelType(Protocol):
    """The library's type of a value."""

    def name(self) -> str:
        """Return the type's name, such as "BOOL" or "ERROR"."""
        ...


class CelValue(Protocol):
    """The library's value."""

    def type(self) -> CelType:
        """Return its type; errors are values of type ERROR, and so, it says, are optionals."""
        ...

    def plain_value(self) -> object:
        """Return it as Python values; raises TypeError on an optional left unopened."""
        ...


class Program(Protocol):
    """A planned expression."""

    def eval(self, *, data: Mapping[str, JsonValue]) -> CelValue:
        """Evaluate over plain dicts; RuntimeError where the library gives up."""
        ...


def parse(text: str) -> bytes:
    """Return the serialised parsed expression; raises RuntimeError with the parser's words."""
    serialised: bytes = _parser().compile(text, disable_check=True).serialize()
    return serialised


def plan(serialised: bytes) -> Program:
    """Return the program of a serialised parsed expression."""
    program: Program = _env().deserialize(serialised)
    return program


@cache
def _parser():  # type: ignore[no-untyped-def]  # noqa: ANN202  # the library has no stubs for mypy
    """Return an environment that only parses.

    Of the extensions it has those that add syntax or macros; loading the others, and declaring
    our functions, takes longer than parsing a whole workflow does.
    """
    from cel_expr_python import cel
    from cel_expr_python.ext import ext_math, ext_optional

    return cel.NewEnv(variables={}, extensions=[ext_math.ExtMath(), ext_optional.ExtOptional()])


@cache
def _env():  # type: ignore[no-untyped-def]  # noqa: ANN202  # the library has no stubs for mypy
    """Return the environment.

    It declares no variable: an expression is parsed, not checked, by the library (our own check
    knows more than its types can say), and an undeclared variable is then dynamic.
    """
    from cel_expr_python import cel
    from cel_expr_python.ext import ext_encoders, ext_math, ext_optional, ext_strings

    from dagflow.expr.functions import FUNCTIONS, INTERNAL

    listed = cel.Type.List(cel.Type.DYN)
    results = {"string": cel.Type.STRING, "dyn": cel.Type.DYN}
    declared = [
        cel.FunctionDecl(
            f.name,
            [
                cel.Overload(
                    f"dagflow_{f.name.lstrip('@')}", results[f.returns], [listed], False, f.call
                )
            ],
        )
        for f in (*FUNCTIONS, *INTERNAL)
    ]
    return cel.NewEnv(
        variables={},
        extensions=[
            ext_strings.ExtStrings(),
            ext_math.ExtMath(),
            ext_optional.ExtOptional(),
            ext_encoders.ExtEncoders(),
            cel.CelExtension("dagflow", declared),
        ],
    )
