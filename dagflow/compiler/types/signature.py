"""What a python step's function takes, read off its source without running it."""

from __future__ import annotations

import ast
import re
import warnings
from textwrap import indent

from dagflow.compiler.source.places import place_of
from dagflow.compiler.types.wiring import Mismatch
from dagflow.core.node import Scalar
from dagflow.core.records import dataclass
from dagflow.core.source import Source, Span

_ON_LINE = re.compile(r"((?:on|at) line )(\d+)")
_REFERENCE = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")


@dataclass(frozen=True, slots=True)
class Signature:
    """The names that `main` takes, those it needs, and whether it takes any other too."""

    names: tuple[str, ...] = ()
    required: tuple[str, ...] = ()
    is_open: bool = False
    problem: Mismatch | None = None

    def takes(self, name: str) -> bool:
        """Tell whether an argument of that name can be given."""
        return self.is_open or name in self.names


def is_reference(code: str) -> bool:
    """Tell whether the code names a function elsewhere (`module:function`)."""
    return _REFERENCE.fullmatch(code.strip()) is not None


def signature_of(code: str, node: Scalar, source: Source) -> Signature | None:
    """Return what the code's `main` takes; None when the function is elsewhere."""
    if is_reference(code):
        return None
    try:
        module = _parsed(code)
    except (SyntaxError, ValueError) as error:
        return Signature(problem=_unreadable(code, node, source, error))
    mains = [
        item
        for item in module.body
        if isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef) and item.name == "main"
    ]
    if not mains:
        return _without_main(module, node)
    return _of(mains[-1].args, node)


def _parsed(code: str) -> ast.Module:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the author's `"\\d"` is theirs to write
        _require_syntax(code)
        return ast.parse(code)


def _require_syntax(code: str) -> None:
    """Raise the `SyntaxError` of code that has one, without touching any file.

    Python looks for the offending line in a file of the module's name. It does so for modules
    only, not for a single statement; so the code is read as the body of one first.
    """
    if not code.strip():
        return
    try:
        ast.parse("if 1:\n" + indent(code, " ", lambda _: True) + "\n", mode="single")
    except SyntaxError as error:
        line, column = (error.lineno or 2) - 1, (error.offset or 2) - 1
        said = _ON_LINE.sub(lambda found: f"{found[1]}{int(found[2]) - 1}", error.msg)
        raise SyntaxError(said, (None, line, max(column, 1), error.text)) from None


def _without_main(module: ast.Module, node: Scalar) -> Signature | None:
    """Say that `main` is missing, unless it may come from an assignment or an import."""
    bound = any(isinstance(item, ast.Assign | ast.ImportFrom) for item in ast.walk(module))
    if bound:
        return None
    message = "the code defines no function `main`"
    return Signature(problem=Mismatch(span=node.span, message=message))


def _of(arguments: ast.arguments, node: Scalar) -> Signature:
    """Read the parameters; the defaults are those of the last that may be given by position."""
    ordered = [*arguments.posonlyargs, *arguments.args]
    needed = {item.arg for item in ordered[: len(ordered) - len(arguments.defaults)]}
    nameless = [item.arg for item in arguments.posonlyargs if item.arg in needed]
    if nameless:
        message = f"`main` takes {nameless[0]!r} by its place only, and `with` gives names"
        help_ = "take the `/` out of its parameters"
        return Signature(problem=Mismatch(span=node.span, message=message, help=help_))
    keyword = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    needed |= {item.arg for item, default in keyword if default is None}
    names = tuple(item.arg for item in (*arguments.args, *arguments.kwonlyargs))
    return Signature(
        names=names,
        required=tuple(name for name in names if name in needed),
        is_open=arguments.kwarg is not None,
    )


def _unreadable(code: str, node: Scalar, source: Source, error: Exception) -> Mismatch:
    line = getattr(error, "lineno", None) or 1
    column = getattr(error, "offset", None) or 1
    lines = code.split("\n")
    offset = sum(len(text) + 1 for text in lines[: line - 1]) + max(column - 1, 0)
    first = place_of(node, min(offset, max(len(code) - 1, 0)), source)
    reason = error.msg if isinstance(error, SyntaxError) else str(error)
    span = Span(first.line, first.column, first.line, first.column + 1, first.file)
    return Mismatch(span=span, message=f"the python code can't be read: {reason}")
