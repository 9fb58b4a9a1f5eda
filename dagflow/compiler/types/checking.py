"""One expression or template, checked where it stands: its type, its reads, its faults."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import Final

from dagflow.compiler.memory import Memory
from dagflow.compiler.model import Fault, Read, Typed
from dagflow.compiler.names.mentions import Mention, mentions_in
from dagflow.compiler.names.resolve import Grounds, Site
from dagflow.compiler.names.scopes import Sight, Trouble, name_trouble
from dagflow.compiler.names.slots import Form
from dagflow.compiler.outputs import TEXT, closed
from dagflow.compiler.source.places import place_of
from dagflow.compiler.types.lengths import text_schema
from dagflow.core.findings import Edit, Fix
from dagflow.core.node import Mapping as MappingNode
from dagflow.core.node import Node, Scalar
from dagflow.core.plan import Evaluated, Expression, Joined, Keyed, Listed, Literal_, Value
from dagflow.core.records import dataclass, replace
from dagflow.core.source import Span
from dagflow.core.values import JsonValue, Schema
from dagflow.core.words import nearest
from dagflow.core.workflow import Workflow
from dagflow.expr import Checked, Problem, Scope, Segment, check, parse_template, step_view
from dagflow.expr.ast import Node as ExpressionNode
from dagflow.expr.ast import walk

WRITABLE: Final[Schema] = {"type": ["string", "integer", "number", "boolean"]}
"""What can be written into a text as it is."""


@dataclass(slots=True, kw_only=True)
class Desk:
    """What checking one workflow needs and gathers.

    `outputs` holds the output schema of every step typed so far, `missing` the names of steps
    that could not be read, `faults` what was wrong, `used` the names that were read ("input:x").
    """

    workflow: Workflow
    grounds: Grounds
    memory: Memory
    missing: frozenset[str] = frozenset()
    outputs: dict[str, Schema] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)
    used: dict[str, None] = field(default_factory=dict)


@dataclass(slots=True, kw_only=True)
class Spot:
    """Where one checked thing stands: the step it belongs to, and its sight."""

    desk: Desk
    sight: Sight
    step: str
    where: str
    reads: list[Read] = field(default_factory=list)

    def fault(
        self, rule: str, span: Span, message: str, help_: str = "", fixes: tuple[Fix, ...] = ()
    ) -> None:
        """Record something wrong here."""
        self.desk.faults.append(replace(self.made(rule, span, message, help_), fixes=fixes))

    def made(self, rule: str, span: Span, message: str, help_: str) -> Fault:
        """Return a fault of this place."""
        return Fault(
            rule=rule,
            span=span,
            message=message,
            step=self.step,
            help=help_,
        )


def check_bare(
    spot: Spot, text: str, node: Scalar, *, expected: Schema = True
) -> tuple[Checked, Expression] | None:
    """Check a bare expression; None when it did not check, with the faults recorded."""
    return _expression(spot, text, node, 0, expected)


def check_template(spot: Spot, node: Node, form: Form = "value") -> Typed | None:
    """Check a template with all its parts; None when one of them did not check."""
    if isinstance(node, Scalar):
        return _scalar(spot, node, form)
    if isinstance(node, MappingNode):
        values = [check_template(spot, value) for _, value in node.entries]
        names = [str(key.value) for key, _ in node.entries]
        return _keyed(node, names, values)
    return _listed(node, [check_template(spot, item) for item in node.items])


def _keyed(node: Node, names: list[str], values: list[Typed | None]) -> Typed | None:
    parts = tuple(part for part in values if part is not None)
    if len(parts) != len(values):
        return None
    schema = closed({name: part.schema for name, part in zip(names, parts, strict=True)})
    if all(isinstance(part.value, Literal_) for part in parts):
        literal: JsonValue = {name: _literal(part) for name, part in zip(names, parts, strict=True)}
        return Typed(value=Literal_(literal), schema=schema, node=node, parts=parts)
    entries = tuple((name, part.value) for name, part in zip(names, parts, strict=True))
    return Typed(
        value=Keyed(entries), schema=schema, node=node, parts=parts, checked=_gathered(parts)
    )


def _listed(node: Node, values: list[Typed | None]) -> Typed | None:
    parts = tuple(part for part in values if part is not None)
    if len(parts) != len(values):
        return None
    schema: Schema = {
        "type": "array",
        "prefixItems": [part.schema for part in parts],
        "minItems": len(parts),
        "maxItems": len(parts),
    }
    if all(isinstance(part.value, Literal_) for part in parts):
        value: Value = Literal_([_literal(part) for part in parts])
        return Typed(value=value, schema=schema, node=node, parts=parts)
    value = Listed(tuple(part.value for part in parts))
    return Typed(value=value, schema=schema, node=node, parts=parts, checked=_gathered(parts))


def _gathered(parts: tuple[Typed, ...]) -> tuple[Checked, ...]:
    return tuple(checked for part in parts for checked in part.checked)


def _literal(part: Typed) -> JsonValue:
    assert isinstance(part.value, Literal_)
    return part.value.literal


def _scalar(spot: Spot, node: Scalar, form: Form) -> Typed | None:
    if not isinstance(node.value, str) or "${{" not in node.value:
        return Typed(value=Literal_(node.value), schema={"const": node.value}, node=node)
    pieces = parse_template(node.value)
    if isinstance(pieces, Problem):
        _problem(spot, pieces, node, 0)
        return None
    if all(isinstance(piece, str) for piece in pieces):
        text = "".join(str(piece) for piece in pieces)
        return Typed(value=Literal_(text), schema={"const": text}, node=node)
    return _evaluated(spot, node, pieces, form)


def _evaluated(
    spot: Spot, node: Scalar, pieces: tuple[str | Segment, ...], form: Form
) -> Typed | None:
    alone = len(pieces) == 1
    if form == "argument" and not alone:
        message = "an argument is one whole value or fixed text, never text with values in it"
        spot.fault("taint-sink", node.span, message, "make the value an argument of its own")
        return None
    as_text = form != "value" or not alone
    parts: list[str | Expression] = []
    found: list[Checked] = []
    failed = False
    for piece in pieces:
        if isinstance(piece, str):
            parts.append(piece)
            continue
        got = _segment(spot, node, piece, as_text=as_text)
        if got is None:
            failed = True
            continue
        found.append(got[0])
        parts.append(got[1])
    if failed:
        return None
    if as_text:
        schema = text_schema(pieces, tuple(each.result for each in found))
        return Typed(value=Joined(tuple(parts)), schema=schema, node=node, checked=tuple(found))
    only = parts[0]
    assert isinstance(only, Expression)
    return Typed(value=Evaluated(only), schema=found[0].result, node=node, checked=tuple(found))


def _segment(
    spot: Spot, node: Scalar, segment: Segment, *, as_text: bool
) -> tuple[Checked, Expression] | None:
    return _expression(spot, segment.text, node, segment.offset, WRITABLE if as_text else True)


def _expression(
    spot: Spot, text: str, node: Scalar, offset: int, expected: Schema = True
) -> tuple[Checked, Expression] | None:
    found = mentions_in(text, spot.sight.roots, spot.desk.memory)
    if _misnamed(spot, text, node, offset, found):
        return None
    result = _checked(spot, text, found, expected)
    if isinstance(result, tuple):
        for problem in result:
            _problem(spot, problem, node, offset)
        return None
    for warning in result.warnings:
        _warning(spot, warning, node, offset, result.node)
    spot.reads.extend(_reads(spot, result, text, node, offset))
    return result, _lowered(spot, result, node, offset)


def _checked(
    spot: Spot, text: str, found: tuple[Mention, ...], expected: Schema
) -> Checked | tuple[Problem, ...]:
    """Return the check of a text, which depends on nothing but the types of what it speaks of."""
    number, outputs = spot.desk.memory.number, spot.desk.outputs
    seen = tuple([
        (name, number(outputs.get(site.path, True)), site.step.kind.value == "foreach")
        for name, site in _mentioned(spot, found)
    ])  # fmt: skip
    key = (text, number(expected), number(spot.sight.extras), spot.sight.secrets, seen)
    return spot.desk.memory.recall(
        "expressions", key, lambda: check(text, _scope(spot, found), expected=expected)
    )


def _misnamed(spot: Spot, text: str, node: Scalar, offset: int, found: tuple[Mention, ...]) -> bool:
    wrong = False
    for mention in found:
        if mention.root == "steps" and mention.name in spot.desk.missing:
            wrong = True  # that it can't be read is said already
            continue
        if mention.root == "secrets":
            wrong |= _secret(spot, text, node, offset, mention)
            continue
        trouble = name_trouble(mention, text, spot.sight, spot.desk.workflow, spot.desk.grounds)
        if trouble is not None:
            wrong = True
            place = _place(spot, node, offset + mention.offset, mention.length)
            fixes = _instead(spot, text, node, offset + mention.offset, trouble)
            spot.fault(trouble.rule, place, trouble.message, trouble.help, fixes)
        elif mention.root == "inputs":
            spot.desk.used[f"input:{mention.name or '*'}"] = None
    return wrong


def _instead(spot: Spot, text: str, node: Scalar, offset: int, trouble: Trouble) -> tuple[Fix, ...]:
    """Return the change that writes the name that was meant, where that is known."""
    if not trouble.meant or trouble.written not in text:
        return ()
    place = _place(spot, node, offset, len(trouble.written))
    return (Fix(f"write {trouble.meant}", (Edit(place, trouble.meant),)),)


def _secret(spot: Spot, text: str, node: Scalar, offset: int, mention: Mention) -> bool:
    """Check one use of a secret: declared, alone in its expression, and where it may stand."""
    place = _place(spot, node, offset + mention.offset, mention.length)
    known = tuple(secret.value for secret in spot.desk.workflow.secrets)
    if mention.name is not None:
        spot.desk.used[f"secret:{mention.name}"] = None
    if mention.name is not None and mention.name not in known:
        hint = nearest(mention.name, known)
        spot.fault("unknown-name", place, f"no secret is named {mention.name!r}{hint}")
        return True
    if not spot.sight.secrets:
        message = f"a secret can't be read here: it would be recorded in {_SINK[spot.where]}"
        help_ = "give secrets to tools in `auth` or `with`, to python and shell steps in `with`"
        spot.fault("secret-flow", place, message, help_)
        return True
    if text.strip() not in {f"secrets.{mention.name}", f"secrets.`{mention.name}`"}:
        message = "a secret can only be passed on whole: `${{ secrets.<NAME> }}`"
        spot.fault("secret-flow", place, message)
        return True
    return False


_SINK: Final[Mapping[str, str]] = {
    "when": "the run's events",
    "branches": "the run's events",
    "until": "the run's events",
    "items": "the run's events",
    "collect": "an output",
    "on_error": "an output",
    "body": "a prompt, message or argument",
    "with": "the step's input",
    "outputs": "the run's outputs",
    "concurrency": "the group's name",
}


def _scope(spot: Spot, found: tuple[Mention, ...]) -> Scope:
    """Make a scope with just what is spoken of: types of 200 steps cost more than of two."""
    variables: dict[str, Schema] = dict(spot.sight.extras)
    outputs = spot.desk.outputs
    steps = {
        name: step_view(outputs.get(site.path, True), foreach=site.step.kind.value == "foreach")
        for name, site in _mentioned(spot, found)
    }
    variables["steps"] = closed(steps)
    if spot.sight.secrets:
        names = [mention.name for mention in found if mention.root == "secrets" and mention.name]
        variables["secrets"] = closed(dict.fromkeys(names, TEXT))
    return Scope(variables)


def _mentioned(spot: Spot, found: tuple[Mention, ...]) -> Iterator[tuple[str, Site]]:
    names = dict.fromkeys(m.name for m in found if m.root == "steps" and m.name is not None)
    for name in names:
        yield name, spot.sight.steps[name]


def _reads(spot: Spot, checked: Checked, text: str, node: Scalar, offset: int) -> Iterator[Read]:
    for read in checked.reads:
        if read.path[:1] != ("steps",) or len(read.path) < 2:  # noqa: PLR2004  # steps.<name>
            continue
        field_ = read.path[2] if len(read.path) > 2 else ""  # noqa: PLR2004  # its field
        yield Read(
            step=spot.sight.steps[read.path[1]].path,
            required=field_ == "output" and not read.optional and not read.tested,
            field=field_,
            span=_place(spot, node, offset + read.offset, read.length),
            text=text[read.offset : read.offset + read.length],
            where=spot.where,
        )


def _lowered(spot: Spot, checked: Checked, node: Scalar, offset: int) -> Expression:
    place = place_of(node, offset, spot.desk.workflow.source)
    return Expression(
        text=checked.text,
        ast=checked.ast,
        reads=checked.paths,
        line=place.line,
        column=place.column,
    )


def _problem(spot: Spot, problem: Problem, node: Scalar, offset: int) -> None:
    place = _place(spot, node, offset + problem.offset, problem.length)
    fixes: tuple[Fix, ...] = ()
    if problem.fix is not None:
        start, length, text = problem.fix
        edit = Edit(_place(spot, node, offset + start, length), text)
        fixes = (Fix(f"write {text}", (edit,)),)
    spot.fault(problem.kind, place, problem.message, problem.help, fixes)


def _warning(
    spot: Spot, problem: Problem, node: Scalar, offset: int, whole: ExpressionNode | None
) -> None:
    place = _place(spot, node, offset + problem.offset, problem.length)
    fault = spot.made(problem.kind, place, problem.message, problem.help)
    at = (problem.offset, problem.offset + problem.length)
    parts = () if whole is None else walk(whole)
    part = next((each for each in parts if getattr(each, "at", None) == at), None)
    spot.desk.faults.append(replace(fault, severity="warning", about=whole, part=part))


def _place(spot: Spot, node: Scalar, offset: int, length: int) -> Span:
    return place_of(node, offset, spot.desk.workflow.source, length=length)
