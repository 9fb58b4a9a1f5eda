"""What must hold where a sub-expression's value matters, from the tests around it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from dagflow.core.records import dataclass
from dagflow.core.states import StepState
from dagflow.expr.ast import Call, Const, ListOf, Node, Path, Select, path_of

STATUSES = tuple(state.value for state in StepState)
STATUS_DEPTH = 3  # steps.<name>.status


@dataclass(frozen=True, slots=True)
class Facts:
    """Paths known to be present, paths known not to be null, and the statuses steps may have."""

    present: frozenset[Path] = frozenset()
    not_null: frozenset[Path] = frozenset()
    status: Mapping[Path, frozenset[str]] = field(default_factory=dict)

    @property
    def is_empty(self) -> bool:
        """Tell whether nothing is known."""
        return not (self.present or self.not_null or self.status)

    def __and__(self, other: Facts) -> Facts:
        """Return the facts where both hold."""
        if other.is_empty or self.is_empty:
            return self if other.is_empty else other
        shared = self.status.keys() & other.status.keys()
        both = {path: self.status[path] & other.status[path] for path in shared}
        status = {**self.status, **other.status, **both}
        return Facts(self.present | other.present, self.not_null | other.not_null, status)

    def __or__(self, other: Facts) -> Facts:
        """Return the facts where at least one of the two holds."""
        shared = self.status.keys() & other.status.keys()
        status = {path: self.status[path] | other.status[path] for path in shared}
        return Facts(self.present & other.present, self.not_null & other.not_null, status)

    def succeeded(self, path: Path) -> bool:
        """Tell whether the step at `path` is known to have succeeded."""
        return self.status.get(path[:2]) == frozenset({"succeeded"})

    def without(self, name: str) -> Facts:
        """Return the facts that don't speak of the variable `name`, which a loop hides."""
        return Facts(
            frozenset(path for path in self.present if path[0] != name),
            frozenset(path for path in self.not_null if path[0] != name),
            {path: found for path, found in self.status.items() if path[0] != name},
        )


NOTHING = Facts()


def assume(node: Node, truth: bool, *, total: bool = False) -> Facts:
    """Return what holds where `node` evaluated to `truth`.

    With `total`, only what tests that can't fail themselves establish.
    """
    match node:
        case Call(function="!_", args=(inner,)):
            return assume(inner, not truth, total=total)
        case Call(function="_&&_" | "_||_", args=(left, right)):
            a, b = assume(left, truth, total=total), assume(right, truth, total=total)
            return a & b if (node.function == "_&&_") == truth else a | b
        case Call(function="_==_" | "_!=_", args=(left, right)):
            equal = (node.function == "_==_") == truth
            return _compared(left, right, equal) & _compared(right, left, equal)
        case Call(function="@in", args=(element, ListOf(items=items))) if truth:
            return _among(element, items)
        case Select(of=of, field=name, test=True) if truth:
            return _has(of, name, total)
        case Call(function="@in", args=(Const(kind="string", value=str(name)), of)) if truth:
            return _has(of, name, total)
    return NOTHING


def assume_safely(node: Node, truth: bool) -> Facts:
    """Return the part of `assume` that also holds for what stands before the test.

    `a && b` is false where b is false even if a can't be evaluated, so a test on the right
    protects the left, but only a test that can't fail itself: of a step's status, or of null.
    """
    facts = assume(node, truth, total=True)
    return Facts(frozenset(), _null_tests(node, truth), facts.status)


def _null_tests(node: Node, truth: bool) -> frozenset[Path]:
    match node:
        case Call(function="!_", args=(inner,)):
            return _null_tests(inner, not truth)
        case Call(function="_&&_" | "_||_", args=(left, right)):
            a, b = _null_tests(left, truth), _null_tests(right, truth)
            return a | b if (node.function == "_&&_") == truth else a & b
        case Call(function="_==_" | "_!=_", args=(left, Const(kind="null"))):
            path = path_of(left)
            return frozenset({path} if path and (node.function == "_!=_") == truth else ())
    return frozenset()


def _compared(side: Node, other: Node, equal: bool) -> Facts:
    path = path_of(side)
    if path is None or not isinstance(other, Const):
        return NOTHING
    present = frozenset({path}) if equal else frozenset[Path]()
    is_null = other.kind == "null"
    not_null = frozenset({path}) if is_null != equal else frozenset[Path]()
    return Facts(present, not_null, _statuses(path, (other,), equal))


def _among(element: Node, items: tuple[Node, ...]) -> Facts:
    path = path_of(element)
    constants = tuple(item for item in items if isinstance(item, Const))
    if path is None or len(constants) != len(items):
        return NOTHING
    null = any(item.kind == "null" for item in constants)
    not_null = frozenset[Path]() if null else frozenset({path})
    return Facts(frozenset({path}), not_null, _statuses(path, constants, True))


def _statuses(path: Path, values: tuple[Const, ...], equal: bool) -> dict[Path, frozenset[str]]:
    if len(path) != STATUS_DEPTH or path[0] != "steps" or path[2] != "status":
        return {}
    named = frozenset(str(value.value) for value in values)
    return {path[:2]: named if equal else frozenset(STATUSES) - named}


def _has(of: Node, name: str, total: bool) -> Facts:
    path = path_of(of)
    if path is None:
        return NOTHING
    whole = (*path, name)
    if total and len(whole) > STATUS_DEPTH:
        return NOTHING
    # a step's output is there only when it succeeded
    output = whole[0] == "steps" and whole[2:3] == ("output",)
    status = {path[:2]: frozenset({"succeeded"})} if output else {}
    return Facts(frozenset({whole}), frozenset(), status)
