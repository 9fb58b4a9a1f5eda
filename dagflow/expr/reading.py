"""Looking up a field, and saying what is wrong where there is none."""

from __future__ import annotations

import re
from dataclasses import replace

from dagflow.core.errors import BugError
from dagflow.core.records import dataclass
from dagflow.core.words import closest, listed, nearest
from dagflow.expr.ast import Call, Node, Select, Var, chain_of, children
from dagflow.expr.fields import Found, field, known_names
from dagflow.expr.types import DYN, Type
from dagflow.expr.walking import Walk

_HYPHENATED = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_CONTAINERS = {"steps": "step", "inputs": "input", "secrets": "secret"}


@dataclass(frozen=True, slots=True)
class Reading:
    """A field that was found. `absent` says why it may not be there, "" where it always is."""

    type: Type
    absent: str = ""


def look_up(walk: Walk, node: Node, of: Node, owner: Type, name: str) -> Reading | None:
    """Return the field of an object, or report the mistake and return None."""
    if owner.is_dyn and owner.schema is True:
        return Reading(DYN)
    if "map" not in owner.kinds and not owner.is_dyn:
        _not_an_object(walk, node, of, owner, name)
        return None
    found = field(owner, name)
    if found.type is None:
        _no_field(walk, node, of, owner, name)
        return None
    if not owner.is_dyn and len(owner.kinds) > 1:
        walk.warn(node, f"{walk.shown(of)} may be {owner.words()}, and only an object has fields")
    return Reading(found.type, _absence(owner, found, name))


def _absence(owner: Type, found: Found, name: str) -> str:
    if found.required:
        return ""
    if found.declared:
        return f"{name!r} is optional in its schema"
    return f"its schema doesn't declare {name!r}{nearest(name, known_names(owner))}"


def _not_an_object(walk: Walk, node: Node, of: Node, owner: Type, name: str) -> None:
    help_ = "list elements are read by index, as in `x[0]`" if owner.kinds == {"list"} else ""
    message = f"{walk.shown(of)} is {owner.words()} and has no field {name!r}"
    if "optional" in owner.kinds:
        raise BugError("an optional is opened before a field is looked up")
    walk.fail("expression-type", node, message, help_)


def _name_only(node: Node, name: str) -> Node:
    """Return the node with the place of its field's name, where that is the end of its text."""
    if not isinstance(node, Select) or node.test:
        return node
    return replace(node, at=(node.at[1] - len(name), node.at[1]))


def _no_field(walk: Walk, node: Node, of: Node, owner: Type, name: str) -> None:
    known = known_names(owner)
    if (hyphenated := _hyphenated(walk, node, known)) is not None:
        report_hyphen(walk, node, hyphenated)
        return
    if isinstance(of, Var) and (what := _CONTAINERS.get(of.name)):
        _no_declared(walk, node, what, known, name)
        return
    near = nearest(name, known)
    help_ = "" if near else _output_field(walk, of, name) or _its_fields(known)
    message = f"{walk.shown(of)} has no field {name!r}{near}"
    fix = _fix(node, name, known)
    walk.fail("expression-type", _name_only(node, name), message, help_, fix)


def _no_declared(walk: Walk, node: Node, what: str, known: tuple[str, ...], name: str) -> None:
    where = "declared" if what == "secret" else "named"
    message = f"no {what} is {where} {name!r}{' here' if what == 'step' else ''}"
    help_ = f"there is {listed(known, last='and')}" if known else f"there is no {what}"
    near = nearest(name, known)
    fix = _fix(node, name, known)
    place = _name_only(node, name)
    walk.fail("unknown-name", place, message + near, "" if near else help_, fix)


def _its_fields(known: tuple[str, ...]) -> str:
    return f"its fields are {listed(known, last='and')}" if known else "it has no fields"


def _output_field(walk: Walk, of: Node, name: str) -> str:
    """Return a hint where `steps.x.name` was written for `steps.x.output.name`."""
    chain = chain_of(of)
    if chain is None or len(chain.path) != 2 or chain.path[0] != "steps":  # noqa: PLR2004
        return ""
    output = field(walk.operand(of)[1], "output").type
    found = field(output, name) if output is not None else Found(None)
    if found.type is None or not found.declared:
        return ""
    return f"write `steps.{chain.path[1]}.output.{name}`"


def _fix(node: Node, name: str, known: tuple[str, ...]) -> tuple[int, int, str] | None:
    near = closest(name, known)
    if near is None or not isinstance(node, Select) or node.test or not near.isidentifier():
        return None
    return node.at[1] - len(name), len(name), near


def _hyphenated(walk: Walk, node: Node, known: tuple[str, ...]) -> str | None:
    if not isinstance(node, Select) or node.test:
        return None
    match = _HYPHENATED.match(walk.text, node.at[1] - len(node.field))
    return match.group() if match and match.group() in known else None


def subtracted_name(walk: Walk, node: Call) -> tuple[Node, str] | None:
    """Return the read and the name where `steps.my-step` was meant as one name."""
    left, right = node.args
    if not isinstance(left, Select) or chain_of(left) is None:
        return None
    leftmost = right
    while children(leftmost):
        leftmost = children(leftmost)[0]
    if not isinstance(leftmost, Var) or leftmost.name in walk.names():
        return None
    owner = walk.operand(left.of)[1]
    name = None if owner.failed else _hyphenated(walk, left, known_names(owner))
    return (left, name) if name else None


def report_hyphen(walk: Walk, node: Node, name: str) -> None:
    """Report that a name with a hyphen needs backticks."""
    read = name.partition("-")[0]
    start = node.at[1] - len(node.field if isinstance(node, Select) else read)
    message = f"{walk.shown(node)} stops at the hyphen, which is a minus sign here"
    fix = (start, len(name), f"`{name}`")
    if isinstance(node, Select):
        node = replace(node, at=(start, start + len(name)))
    walk.fail("unknown-name", node, message, f"write the name in backticks: `{name}`", fix)
