"""The check of an expression: its type, what it reads, and every mistake in it.

One walk infers the type of every sub-expression, over JSON Schemas and under the facts that the
tests around it establish, and lowers it: arithmetic between an integer and a number is written
in doubles. A value that a problem was found for is `FAILED` and silences what depends on it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import field

from dagflow.core.records import dataclass, replace
from dagflow.core.values import JsonObject
from dagflow.core.words import nearest
from dagflow.expr import operators
from dagflow.expr.ast import (
    Call,
    Chain,
    Const,
    Let,
    ListOf,
    Loop,
    MapOf,
    Node,
    Select,
    Var,
    chain_of,
    path_of,
    step_of,
)
from dagflow.expr.facts import NOTHING, Facts, assume, assume_safely
from dagflow.expr.fields import element, keys, most_items
from dagflow.expr.functions import ORDER
from dagflow.expr.problem import Problem, ProblemKind
from dagflow.expr.reading import Reading, look_up
from dagflow.expr.scope import Scope
from dagflow.expr.signatures import TYPE_NAMES
from dagflow.expr.types import (
    BOOL,
    FAILED,
    NEVER,
    Type,
    closed,
    list_of,
    literal,
    of_kind,
    optional_of,
    union,
    without_null,
)
from dagflow.expr.walking import Typed


@dataclass(frozen=True, slots=True)
class ReadPath:
    """A path that an expression reads, as long as its names are constant.

    `optional`: a `?` (or `has`) stands where the value's owner may have nothing to show: anywhere
    in the path, for a path into `steps` no later than at the step's own field. `tested`: the read
    only matters where a test has found that the step succeeded.
    """

    path: tuple[str, ...]
    optional: bool
    tested: bool
    offset: int
    length: int


@dataclass(slots=True)
class Inference:
    """One walk over one expression."""

    text: str
    scope: Scope
    problems: dict[Problem, None] = field(default_factory=dict)
    warnings: dict[Problem, None] = field(default_factory=dict)
    reads: dict[ReadPath, None] = field(default_factory=dict)
    locals: dict[str, Type] = field(default_factory=dict)
    keys_of: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """The names of loops over the keys of a map, each with the path of that map."""
    facts: Facts = NOTHING

    def visit(self, node: Node) -> Typed:
        """Return the lowered node and its type."""
        return _VISITORS[type(node)](self, node)

    # what is said of a node

    def shown(self, node: Node) -> str:
        """Return the author's text of a node, on one line and not too long."""
        text = " ".join(self.text[slice(*node.at)].split())
        return f"`{text if len(text) <= 60 else text[:59] + '…'}`"  # noqa: PLR2004

    def fail(
        self,
        kind: ProblemKind,
        node: Node,
        message: str,
        help_: str = "",
        fix: tuple[int, int, str] | None = None,
    ) -> Type:
        """Report a problem at a node, and return the type that silences others."""
        start, end = node.at
        self.problems[Problem(kind, message, start, end - start, help_, fix)] = None
        return FAILED

    def names(self) -> tuple[str, ...]:
        """Return the variables in scope."""
        return (*self.locals, *self.scope.variables)

    def warn(self, node: Node, message: str, help_: str = "") -> None:
        """Report that an operation may fail when it runs."""
        start, end = node.at
        self.warnings[Problem("partial-operation", message, start, end - start, help_)] = None

    def solid(self, node: Node, found: Type, what: str = "") -> Type:
        """Return the type without null, reporting that it may be null where that matters."""
        if not found.nullable or found.failed:
            return found
        if found.kinds == {"null"}:
            return self.fail("expression-type", node, f"{self.shown(node)} is null{what}")
        message = f"{self.shown(node)} may be null here{what}"
        help_ = "test it with `!= null` first, or choose with `? :` what to use instead"
        return self.fail("maybe-null", node, message, help_)

    @contextmanager
    def under(self, facts: Facts) -> Iterator[None]:
        """Visit under more facts."""
        before = self.facts
        self.facts = before & facts
        yield
        self.facts = before

    @contextmanager
    def binding(
        self, name: str, found: Type, keys_of: tuple[str, ...] | None = None
    ) -> Iterator[None]:
        """Visit with a name of a loop or of optMap in scope."""
        before, facts, ranges = dict(self.locals), self.facts, self.keys_of
        self.locals[name] = found
        self.facts = facts.without(name)
        # a path that begins with this name means something else from here on
        self.keys_of = {at: path for at, path in ranges.items() if name not in {at, path[0]}}
        if keys_of is not None and keys_of[0] != name:
            self.keys_of[name] = keys_of
        yield
        self.locals, self.facts, self.keys_of = before, facts, ranges

    # one method a kind of node

    def constant(self, node: Const) -> Typed:
        """Infer a literal."""
        if node.kind == "bytes" or isinstance(node.value, bytes):
            return node, of_kind("bytes")
        if node.kind == "double" and node.value in {float("inf"), float("-inf")}:
            return node, self.fail("expression-type", node, f"{self.shown(node)} is too large")
        return node, literal(node.value, node.kind)

    def variable(self, node: Var) -> Typed:
        """Infer a variable read as a whole."""
        found = self._root(node)
        if node.name not in self.locals and node.name in self.scope.variables:
            self.read(node, Chain((node.name,), ()))
        return node, self._narrowed(Chain((node.name,), ()), found)

    def _root(self, node: Var) -> Type:
        if (found := self.locals.get(node.name) or self.scope.type_of(node.name)) is not None:
            return found
        if node.name in TYPE_NAMES:
            return of_kind("type")
        names = self.names()
        if (step := self._step_named(node.name)) is not None:
            message = f"no variable is named {node.name!r}"
            return self.fail("unknown-name", node, message, f"the step is `{step}`")
        help_ = f"in scope here: {', '.join(sorted(names))}" if names else "nothing is in scope"
        message = f"no variable is named {node.name!r}{nearest(node.name, names)}"
        return self.fail("unknown-name", node, message, help_)

    def _step_named(self, name: str) -> str | None:
        steps = self.scope.variables.get("steps")
        known = steps.get("properties") if isinstance(steps, dict) else None
        return f"steps.{name}" if isinstance(known, dict) and name in known else None

    def selection(self, node: Select) -> Typed:
        """Infer `x.field` and `has(x.field)`."""
        if node.test:
            return self._tested(node)
        return self.step(node, node.of, node.field)

    def _tested(self, node: Select) -> Typed:
        of, owner = self.operand(node.of)
        if (chain := chain_of(node.of)) is not None:
            self.read(node, Chain((*chain.path, node.field), (*chain.optional, len(chain.path))))
        owner = self.solid(node.of, owner)
        if not owner.failed:
            self.member(node, node.of, owner, node.field)
        return replace(node, of=of), BOOL

    def operand(self, node: Node) -> Typed:
        """Infer what a field is read of; the read itself is recorded for the longest path."""
        if isinstance(node, Var):
            found = self._root(node)
            return node, self._narrowed(Chain((node.name,), ()), found) if found.nullable else found
        inner = step_of(node)
        return self.step(node, *inner[:2], record=False) if inner else self.visit(node)

    def step(self, node: Node, of: Node, name: str, *, record: bool = True) -> Typed:
        """Infer the read of one field, optional or not."""
        lowered, owner = self.operand(of)
        chain = chain_of(node) if record or not self.facts.is_empty else None
        if record and chain is not None:
            self.read(node, chain)
        written = _with_owner(node, lowered)
        if owner.failed:
            return written, FAILED
        found = self._stepped(node, of, owner, name)
        return written, self._narrowed(chain, found) if chain else found

    def _stepped(self, node: Node, of: Node, owner: Type, name: str) -> Type:
        opened = owner.inner if owner.inner and "optional" in owner.kinds else None
        optional = opened is not None or _is_optional(node)
        of_type = self.solid(of, owner if opened is None else opened)
        if of_type.failed:
            return FAILED
        found = self.member(node, of, of_type, name)
        if found is None:
            return FAILED
        if optional:
            return optional_of(found.type)
        if found.absent and not self._known_present(node):
            self._may_be_absent(node, found.absent)
        return found.type

    def member(self, node: Node, of: Node, owner: Type, name: str) -> Reading | None:
        """Look up a field, or report that there is none."""
        return look_up(self, node, of, owner, name)

    def _known_present(self, node: Node) -> bool:
        chain = chain_of(node)
        if chain is None:
            return False
        path = chain.path
        # a step always has its entry, and whether its output is there is the graph's question
        is_step = path[0] == "steps" and (len(path) == 2 or path[2:] == ("output",))  # noqa: PLR2004
        return is_step or path in self.facts.present

    def _may_be_absent(self, node: Node, why: str) -> None:
        message = f"{self.shown(node)} may be absent: {why}"
        self.warn(node, message, "read it with `.?` and `orValue(…)`, or test it with `has(…)`")

    def _narrowed(self, chain: Chain, found: Type) -> Type:
        known = chain.path in self.facts.not_null and not chain.optional
        return without_null(found) if known else found

    def read(self, node: Node, chain: Chain) -> None:
        """Record that a path of the scope is read."""
        name, path = chain.path[0], chain.path
        if name in self.locals or name not in self.scope.variables:
            return
        limit = 2 if name == "steps" else len(path)
        optional = any(index <= limit for index in chain.optional)
        tested = name == "steps" and self.facts.succeeded(path)
        start, end = node.at
        self.reads[ReadPath(path, optional, tested, start, end - start)] = None
        if path == ("steps",):
            message = "`steps` can't be read as a whole: name the step, as in `steps.fetch.output`"
            self.fail("expression-type", node, message)

    def call(self, node: Call) -> Typed:
        """Infer an operator, function or method."""
        special = _SPECIAL.get(node.function)
        return special(self, node) if special else operators.apply(self, node)

    def logic(self, node: Call) -> Typed:
        """Infer `&&` and `||`: each side matters only where the other doesn't decide."""
        truth = node.function == "_&&_"
        left, right = node.args
        with self.under(assume_safely(right, truth)):
            a = self.boolean(left)
        with self.under(assume(left, truth)):
            b = self.boolean(right)
        return Call(node.function, (a, b), None, node.at), BOOL

    def boolean(self, node: Node) -> Node:
        """Infer what must be true or false."""
        lowered, found = self.visit(node)
        found = self.solid(node, found)
        if not found.failed and not found.is_dyn and "bool" not in found.kinds:
            self.fail(
                "expression-type", node, f"{self.shown(node)} is {found.words()}, not a boolean"
            )
        return lowered

    def choice(self, node: Call) -> Typed:
        """Infer `a ? b : c`."""
        test, yes, no = node.args
        a = self.boolean(test)
        with self.under(assume(test, True)):
            b, b_type = self.visit(yes)
        with self.under(assume(test, False)):
            c, c_type = self.visit(no)
        return replace(node, args=(a, b, c)), union(b_type, c_type)

    def optional_step(self, node: Call) -> Typed:
        """Infer `a.?b` and `a[?b]`."""
        if (inner := step_of(node)) is not None:
            return self.step(node, *inner[:2])
        return operators.index(self, node)

    def index(self, node: Call) -> Typed:
        """Infer `a[b]`."""
        if (inner := step_of(node)) is not None:
            return self.step(node, *inner[:2])
        return operators.index(self, node)

    def array(self, node: ListOf) -> Typed:
        """Infer a list literal."""
        lowered, types = self._parts(node.items, node.optional)
        element_ = union(*types) if types else NEVER
        least = len(types) - len(node.optional)
        found = list_of(element_, least, len(types))
        return replace(node, items=lowered), found

    def _parts(
        self, nodes: tuple[Node, ...], optional: tuple[int, ...]
    ) -> tuple[tuple[Node, ...], list[Type]]:
        lowered: list[Node] = []
        types: list[Type] = []
        for position, node in enumerate(nodes):
            part, found = self.visit(node)
            lowered.append(part)
            types.append(self.opened(node, found) if position in optional else found)
        return tuple(lowered), types

    def opened(self, node: Node, found: Type) -> Type:
        """Return what an optional holds."""
        if found.inner is not None and "optional" in found.kinds:
            return found.inner
        if not found.is_dyn and not found.failed:
            message = f"{self.shown(node)} is {found.words()}, not an optional value"
            return self.fail("expression-type", node, message)
        return found

    def object_(self, node: MapOf) -> Typed:
        """Infer a map literal."""
        names, key_types = self._parts(tuple(key for key, _ in node.entries), ())
        values, types = self._parts(tuple(value for _, value in node.entries), node.optional)
        lowered = replace(node, entries=tuple(zip(names, values, strict=True)))
        if any(found.failed for found in (*key_types, *types)):
            return lowered, FAILED
        if all(isinstance(key, Const) and key.kind == "string" for key in names):
            return lowered, self._record(node, types)
        schema: JsonObject = {"type": "object"}
        if types:
            schema["additionalProperties"] = closed(union(*types))
        return lowered, Type(schema, schema, frozenset({"map"}))

    def _record(self, node: MapOf, types: list[Type]) -> Type:
        properties: JsonObject = {}
        required: list[str] = []
        for position, (key, _) in enumerate(node.entries):
            name = str(key.value) if isinstance(key, Const) else ""
            if name in properties:
                return self.fail("expression-type", key, f"the key {name!r} appears twice")
            properties[name] = closed(types[position])
            required += [] if position in node.optional else [name]
        schema: JsonObject = {"type": "object", "properties": properties}
        schema |= {"required": list(required), "additionalProperties": False}
        return Type(schema, schema, frozenset({"map"}))

    def loop(self, node: Loop) -> Typed:
        """Infer a macro."""
        over, found = self.visit(node.over)
        item_type = self._looped(node.over, self.solid(node.over, found))
        ranges = path_of(node.over) if found.kinds == {"map"} else None
        with self.binding(node.var, item_type, ranges):
            test = None if node.test is None else self.boolean(node.test)
            with self.under(NOTHING if node.test is None else assume(node.test, True)):
                item, item_found = self._item(node)
        if node.kind in {"map", "filter"} and (found.is_dyn or "map" in found.kinds):
            over = Call(ORDER, (over,), None, node.over.at)
        lowered = replace(node, over=over, test=test, item=item)
        if node.kind not in {"map", "filter"}:
            return lowered, BOOL
        kept_all = node.kind == "map" and node.test is None
        most = most_items(found) if found.kinds == {"list"} else None
        return lowered, list_of(item_found, 0 if not kept_all else _least(found), most)

    def _item(self, node: Loop) -> tuple[Node | None, Type]:
        if node.item is None:
            return None, self.visit(Var(node.var))[1] if node.kind == "filter" else BOOL
        return self.visit(node.item)

    def _looped(self, node: Node, found: Type) -> Type:
        if found.failed or found.is_dyn:
            return found
        types = [element(found)] if "list" in found.kinds else []
        types += [keys(found)] if "map" in found.kinds else []
        if types:
            return union(*types)
        return self.fail(
            "expression-type", node, f"{self.shown(node)} is {found.words()}, not a list"
        )

    def let(self, node: Let) -> Typed:
        """Infer what optMap is written as."""
        value, found = self.visit(node.value)
        with self.binding(node.name, found):
            body, result = self.visit(node.body)
        return replace(node, value=value, body=body), result


def _least(found: Type) -> int:
    from dagflow.expr.fields import least_items

    return least_items(found) if found.kinds == {"list"} else 0


def _is_optional(node: Node) -> bool:
    return isinstance(node, Call) and node.function in {"_?._", "_[?_]"}


def _with_owner(node: Node, owner: Node) -> Node:
    if isinstance(node, Select):
        return node if node.of is owner else replace(node, of=owner)
    if isinstance(node, Call) and node.args[0] is not owner:
        return replace(node, args=(owner, *node.args[1:]))
    return node


_VISITORS: dict[type, Callable[..., Typed]] = {
    Const: Inference.constant,
    Var: Inference.variable,
    Select: Inference.selection,
    Call: Inference.call,
    ListOf: Inference.array,
    MapOf: Inference.object_,
    Loop: Inference.loop,
    Let: Inference.let,
}
_SPECIAL: dict[str, Callable[[Inference, Call], Typed]] = {
    "_&&_": Inference.logic,
    "_||_": Inference.logic,
    "_?_:_": Inference.choice,
    "_[_]": Inference.index,
    "_?._": Inference.optional_step,
    "_[?_]": Inference.optional_step,
}
