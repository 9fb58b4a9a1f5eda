"""Running an AST: one planned program for each, and every way to fail turned into one."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from dagflow.core.errors import DagflowError, ValueRefusedError
from dagflow.core.values import JsonValue
from dagflow.expr import library
from dagflow.expr.ast import Node
from dagflow.expr.encode import encode
from dagflow.expr.result import to_json
from dagflow.expr.signatures import OPERATORS


class FailedError(DagflowError):
    """An evaluation failed; `words` say why."""

    def __init__(self, words: str) -> None:
        super().__init__(words)
        self.words = words


@lru_cache(maxsize=2048)
def program_of(node: Node) -> library.Program:
    """Return the program of an AST."""
    return library.plan(encode(node))


def run(node: Node, data: Mapping[str, JsonValue]) -> JsonValue:
    """Evaluate over values that were checked; raises `FailedError` on any failure."""
    return run_program(program_of(node), data)


def run_program(program: library.Program, data: Mapping[str, JsonValue]) -> JsonValue:
    """Do what `run` does with a program at hand."""
    try:
        value = program.eval(data=data)
        plain = value.plain_value()
    except RuntimeError as error:
        raise FailedError(translated(str(error))) from None
    except (TypeError, SystemError):  # the latter where one lies inside a list or an object
        raise FailedError("the result is an optional value; open it with `.orValue(…)`") from None
    if isinstance(plain, bool):
        return plain
    if isinstance(plain, str) and value.type().name() == "ERROR":
        raise FailedError(translated(plain))
    try:
        return to_json(plain)
    except ValueRefusedError as refused:
        raise FailedError(refused.reason) from None


def fails(node: Node, data: Mapping[str, JsonValue]) -> str | None:
    """Return why the AST fails by itself, or None; an optional or a type is no failure."""
    try:
        value = program_of(node).eval(data=data)
        plain = value.plain_value()
    except RuntimeError as error:
        return translated(str(error))
    except (TypeError, SystemError):
        return None
    failed = isinstance(plain, str) and value.type().name() == "ERROR"
    return translated(str(plain)) if failed else None


_CODE = re.compile(r"^[A-Z_]+: ")
_TAIL = re.compile(r" \[[A-Z_]+\]$")
_KINDS = {
    "int64": "an integer",
    "uint64": "an unsigned integer",
    "double": "a number",
    "string": "a string",
    "bool": "a boolean",
    "list": "a list",
    "map": "an object",
    "null_type": "null",
    "bytes": "bytes",
    "timestamp": "a timestamp",
    "duration": "a duration",
    "*opaque*": "an optional value",
    "type": "a type",
}


def translated(said: str) -> str:
    """Return the library's message in our words."""
    said = _TAIL.sub("", _CODE.sub("", said)).strip()
    for pattern, words in _MESSAGES:
        if (match := pattern.search(said)) is not None:
            return words(match)
    return said


def _overload(match: re.Match[str]) -> str:
    receiver, name, given = match["on"], match["name"], match["args"]
    kinds = [part for part in [receiver, *given.split(",")] if part and part.strip()]
    words = " and ".join(_KINDS.get(kind.strip(), kind.strip()) for kind in kinds)
    return f"`{OPERATORS.get(name, name)}` can't take {words or 'nothing'}"


_MESSAGES = tuple(
    (re.compile(pattern), words)
    for pattern, words in (
        (
            r"overloads found : (?:\((?P<on>[^)]*)\)\.)?(?P<name>[^(]+)\((?P<args>.*)\)",
            _overload,
        ),
        (r'Key not found in map : "(.*)"', lambda m: f"there is no {m[1]!r} in the object"),
        (r"Key not found in map : (.*)", lambda m: f"there is no {m[1]} in the object"),
        (
            r"Index error: index=(-?\d+) size=(\d+)",
            lambda m: f"the list has no index {m[1]}, it has {m[2]} elements",
        ),
        (r"Index out of bounds|index out of bounds", lambda _: "the list has no such index"),
        (r"divide by zero", lambda _: "division by zero"),
        (r"modulus by zero", lambda _: "modulus by zero"),
        (r"integer overflow", lambda _: "the result is an integer outside the 64-bit range"),
        (r'No value with name "(.*)" found', lambda m: f"{m[1]!r} has no value here"),
        (r"Iteration budget exceeded", lambda _: "more than 10,000 loop turns"),
        (r"Applying SELECT to non-message type", lambda _: "a field was read of what is no object"),
        (r"Key not found in map", lambda _: "there is no such key in the object"),
    )
)
