"""Models built by hand, for tests of the graph passes that need no YAML and no expressions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from dagflow.compiler.model import Block, Model, Read, StepFacts
from dagflow.core.node import Mapping as MappingNode
from dagflow.core.node import Scalar
from dagflow.core.plan import Expression
from dagflow.core.source import NOWHERE, At, Source, Span
from dagflow.core.steps.fail import Fail
from dagflow.core.steps.foreach import Foreach
from dagflow.core.steps.switch import Branch, Switch
from dagflow.core.steps.transform import Transform
from dagflow.core.tool import ToolCatalog
from dagflow.core.workflow import After, AtLeast, Handler, Step, Workflow
from dagflow.expr import ast


@dataclass(frozen=True, kw_only=True)
class Made:
    """What a test says of one step; `reads` are names, "?x" for an ordering read of x."""

    name: str
    kind: str = "transform"
    after: Sequence[str | tuple[str, str]] = ()
    reads: Sequence[str] = ()
    when: ast.Node | str | None = None
    join: str | int | None = None
    branches: Sequence[tuple[ast.Node | str | None, Sequence[str]]] = ()
    goto: str | None = None
    recovers: bool = False
    effects: str = "pure"
    inner: Sequence[Made] = ()
    collect: Sequence[str] = ()
    compensate: Sequence[str] = ()
    expression: ast.Node | None = None
    extra: dict[str, Any] = field(default_factory=dict)


def made(name: str, **fields: Any) -> Made:
    """Say something of a step."""
    return Made(name=name, **fields)


def true() -> ast.Node:
    return ast.Const("bool", True)


def false() -> ast.Node:
    return ast.Const("bool", False)


def _unknown(name: str) -> ast.Node:
    """Return a condition that nothing is known of; each may come out as it likes."""
    return ast.Select(ast.Var("inputs"), name)


def succeeded(name: str) -> ast.Node:
    """Return the AST of `steps.<name>.status == "succeeded"`."""
    status = ast.Select(ast.Select(ast.Var("steps"), name), "status")
    return ast.Call("_==_", (status, ast.Const("string", "succeeded")))


def model(
    *steps: Made,
    outputs: Sequence[str] = (),
    finally_: Sequence[Made] = (),
    on_failure: str | None = None,
) -> Model:
    """Return the model of a workflow with these steps, each on a line of its own."""
    lines = iter(range(1, 1_000_000))
    blocks: dict[str, Block] = {}
    _block(blocks, "", "steps", steps, lines)
    _block(blocks, "finally", "finally", finally_, lines)
    source = Source("w.yaml", "")
    workflow = Workflow(
        source=source,
        root=MappingNode((), NOWHERE),
        dagflow=_at(1),
        name=_at("w"),
        on_failure=None if on_failure is None else _at(on_failure),
    )
    reads = tuple(_read(name, next(lines), "output") for name in outputs)
    return Model(workflow=workflow, blocks=blocks, catalog=ToolCatalog(), output_reads=reads)


def _block(
    blocks: dict[str, Block], path: str, kind: Any, steps: Sequence[Made], lines: Any
) -> None:
    prefix = f"{path}." if path not in {"", "finally"} else ""
    parents = None if path in {"", "finally"} else path.rpartition(".")[0]
    blocks[path] = Block(path=path, kind=kind, steps=(), parent=parents)
    facts = tuple(_facts(item, prefix, path, next(lines)) for item in steps)
    blocks[path] = replace(blocks[path], steps=facts)
    for item in steps:
        if item.inner:
            _block(blocks, prefix + item.name, "foreach", item.inner, lines)


def _facts(item: Made, prefix: str, block: str, line: int) -> StepFacts:
    lowered = {}
    if item.when is not None:
        node = _unknown(item.name) if isinstance(item.when, str) else item.when
        lowered["when"] = Expression(str(item.when), ast.to_json(node))
    for index, (when, _) in enumerate(item.branches):
        if when is not None:
            node = _unknown(f"{item.name}_{index}") if isinstance(when, str) else when
            lowered[f"branches.{index}"] = Expression(str(when), ast.to_json(node))
    if item.expression is not None:
        lowered["expression"] = Expression("", ast.to_json(item.expression))
    reads = [_read(_path(name, prefix), line, "with") for name in item.reads]
    reads += [_read(f"{prefix}{item.name}.{name}", line, "collect") for name in item.collect]
    reads += [_read(_path(name, prefix), line, "compensate") for name in item.compensate]
    return StepFacts(
        step=_step(item, line),
        path=prefix + item.name,
        block=block,
        reads=tuple(reads),
        lowered=lowered,
        effects=item.effects,  # type: ignore[arg-type]
    )


def _path(name: str, prefix: str) -> str:
    mark = "?" if name.startswith("?") else ""
    bare = name.removeprefix("?")
    return mark + (bare.removeprefix("^") if bare.startswith("^") else prefix + bare)


def _read(name: str, line: int, where: str) -> Read:
    bare = name.removeprefix("?")
    return Read(
        step=bare,
        required=bare == name,
        field="output",
        span=Span(line, 50, line, 60),
        text=f"steps.{bare}.output",
        where=where,
    )


def _step(item: Made, line: int) -> Step:
    handlers = []
    if item.recovers:
        handlers.append(Handler(continue_=Scalar(None, NOWHERE)))
    if item.goto is not None:
        handlers.append(Handler(goto=_at(item.goto, line)))
    return Step(
        name=_at(item.name, line),
        kind=_at(_kind(item), line),
        body=_body(item, line),
        after=tuple(_after(one, line) for one in item.after),
        when=None if item.when is None else _at(str(item.when), line),
        join=_join(item.join),
        on_error=tuple(handlers),
        **item.extra,
    )


def _kind(item: Made) -> str:
    if item.branches:
        return "switch"
    return "foreach" if item.inner else item.kind


def _body(item: Made, line: int) -> Any:
    if item.branches:
        return Switch(branches=tuple(_branch(when, to, line) for when, to in item.branches))
    if item.inner:
        collect = _at("collected") if item.collect else None
        return Foreach(items=_at("inputs.items"), max_items=_at(3), collect=collect, steps=())
    if item.kind == "fail":
        return Fail(message=Scalar("no", NOWHERE))
    return Transform(expression=_at("1"))


def _branch(when: object, targets: Sequence[str], line: int) -> Branch:
    names = tuple(_at(name, line) for name in targets)
    if when is None:
        return Branch(else_=names)
    return Branch(when=_at(str(when)), then=names)


def _after(one: str | tuple[str, str], line: int) -> After:
    if isinstance(one, str):
        return After(step=_at(one, line))
    return After(step=_at(one[0], line), on=_at(one[1], line))


def _join(join: str | int | None) -> Any:
    if join is None:
        return None
    return AtLeast(at_least=_at(join)) if isinstance(join, int) else _at(join)


def _at(value: Any, line: int = 1) -> At[Any]:
    return At(value, Span(line, 1, line, 2))
