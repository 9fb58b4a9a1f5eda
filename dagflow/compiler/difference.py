"""What a new version of a workflow changes: for those who call it, for the world, and how risky."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final, Literal, TypeAlias

from dagflow.compiler.signature import Signature, signature_in
from dagflow.core.findings import Bounds, CostBound
from dagflow.core.money import written
from dagflow.core.plan import Plan, PlanStep, steps_of
from dagflow.core.records import dataclass
from dagflow.core.values import JsonObject, JsonValue, Schema
from dagflow.expr import fits, misfit

Risk: TypeAlias = Literal["none", "low", "high"]
"""none: nobody notices · low: more or other work is done · high: callers may break, or something
new is done to the world."""

Area: TypeAlias = Literal["callers", "tools", "models", "secrets", "steps", "bounds", "triggers"]

RISKS: Final[tuple[Risk, ...]] = ("none", "low", "high")
READING: Final = frozenset({"GET", "HEAD", "OPTIONS"})


@dataclass(frozen=True, slots=True)
class Change:
    """One thing that changes. `breaking`: a caller that was right before may not be any more.

    `about` is what it is a change of, as the file is written: `inputs.x`, `steps.loop.grade`.
    """

    area: Area
    text: str
    risk: Risk
    breaking: bool = False
    about: str = ""


@dataclass(frozen=True, slots=True)
class Version:
    """One version of a workflow, as it was compiled."""

    plan: Plan
    bounds: Bounds = Bounds()


@dataclass(frozen=True, slots=True)
class Difference:
    """All that a new version changes, by area and then in the order of the file."""

    changes: tuple[Change, ...]

    @property
    def breaking(self) -> bool:
        """Tell whether a caller may break."""
        return any(change.breaking for change in self.changes)

    @property
    def risk(self) -> Risk:
        """Return the highest risk of all changes."""
        return max((change.risk for change in self.changes), key=RISKS.index, default="none")


def difference(old: Version, new: Version) -> Difference:
    """Return what the new version changes."""
    found = (change for compare in _AREAS for change in compare(old, new))
    return Difference(tuple(found))


def _callers(old: Version, new: Version) -> Iterator[Change]:
    yield from of_signature(signature_in(old.plan), signature_in(new.plan))


def of_signature(old: Signature, new: Signature) -> Iterator[Change]:
    """Yield what changes for those who call the workflow."""
    yield from _inputs(old.inputs, new.inputs)
    yield from _outputs(old.outputs, new.outputs)


def _inputs(old: Schema, new: Schema) -> Iterator[Change]:
    before, after, required = _fields(old), _fields(new), _required(new)
    for name in sorted(before.keys() - after.keys()):
        yield _breaking(f"input {name!r} is gone", "inputs")
    for name in sorted(after.keys() - before.keys()):
        about, text = f"inputs.{name}", f"input {name!r} is new"
        if name in required:
            yield _breaking(f"{text}, and must be given", about)
        else:
            yield Change("callers", text, "none", about=about)
    for name in sorted(before.keys() & after.keys()):
        yield from _input(name, before[name], after[name])
        if name in required - _required(old):
            yield _breaking(f"input {name!r} must be given now", f"inputs.{name}")


def _breaking(text: str, about: str) -> Change:
    return Change("callers", text, "high", breaking=True, about=about)


def _input(name: str, before: Schema, after: Schema) -> Iterator[Change]:
    if before == after:
        return
    verdict, about = fits(before, after), f"inputs.{name}"
    if verdict == "yes":
        yield Change("callers", f"input {name!r} takes more than before", "none", about=about)
        return
    why = "takes other values than before"
    if verdict == "no":
        why = f"refuses values that it took: what was given {misfit(before, after)}"
    yield _breaking(f"input {name!r} {why}", about)


def _outputs(old: Schema, new: Schema) -> Iterator[Change]:
    before, after = _fields(old), _fields(new)
    for name in sorted(before.keys() - after.keys()):
        yield _breaking(f"output {name!r} is gone", "outputs")
    for name in sorted(after.keys() - before.keys()):
        yield Change("callers", f"output {name!r} is new", "none", about=f"outputs.{name}")
    for name in sorted(before.keys() & after.keys()):
        if before[name] == after[name]:
            continue
        verdict, about = fits(after[name], before[name]), f"outputs.{name}"
        if verdict == "yes":
            yield Change("callers", f"output {name!r} is narrower than before", "none", about=about)
        else:
            why = misfit(after[name], before[name]) if verdict == "no" else "may be something else"
            yield _breaking(f"output {name!r} {why}", about)


def _tools(old: Version, new: Version) -> Iterator[Change]:
    before, after = old.plan.tools, new.plan.tools
    for name in sorted(before.keys() - after.keys()):
        yield Change("tools", f"{name} is no longer called", "low")
    for name in sorted(after.keys() - before.keys()):
        method = _method(name)
        writes = method not in READING
        text = f"{name} is called" + (", which changes something outside" if writes else "")
        yield Change("tools", text, "high" if writes else "low")
    for name in sorted(before.keys() & after.keys()):
        if before[name] != after[name]:
            yield Change("tools", f"{name} is another version of the operation", "low")


def _method(operation: str) -> str:
    return operation.partition(".")[2].partition(" ")[0]


def _models(old: Version, new: Version) -> Iterator[Change]:
    before, after = old.plan.models, new.plan.models
    for name in sorted(before.keys() | after.keys()):
        if before.get(name) == after.get(name):
            continue
        word = "gone" if name not in after else "new" if name not in before else "another"
        if word == "another" and _routed(before[name]) == _routed(after[name]):
            yield Change("models", f"model {name!r} has another price or context", "none")
        else:
            yield Change("models", f"model {name!r} is {word}", "low")


def _routed(model: JsonObject) -> JsonObject:
    """Return what tells which model it is."""
    return {key: value for key, value in model.items() if key not in {"price", "context"}}


def _secrets(old: Version, new: Version) -> Iterator[Change]:
    for name in sorted(set(new.plan.secrets) - set(old.plan.secrets)):
        yield Change("secrets", f"secret {name!r} is read", "high")
    for name in sorted(set(old.plan.secrets) - set(new.plan.secrets)):
        yield Change("secrets", f"secret {name!r} is no longer read", "none")


def _steps(old: Version, new: Version) -> Iterator[Change]:
    before = {step.path: step for step in steps_of(old.plan)}
    after = {step.path: step for step in steps_of(new.plan)}
    for path, step in after.items():
        if path not in before:
            text = f"step {path!r} is new ({step.kind})"
            yield Change("steps", text, _risk_of(step), about=f"steps.{path}")
    for path in before:
        if path not in after:
            yield Change("steps", f"step {path!r} is gone", "low", about="steps")
    for path, step in after.items():
        if path in before:
            yield from _step(before[path], step)


def _risk_of(step: PlanStep) -> Risk:
    return "high" if step.effects == "once" else "none" if step.effects == "pure" else "low"


def _step(old: PlanStep, new: PlanStep) -> Iterator[Change]:
    for name, say in _PARTS.items():
        before, after = say(old), say(new)
        if before != after:
            text = f"step {new.path!r}: {name} is {after or 'none'}, was {before or 'none'}"
            grown = name == "effects" and _EFFECTS[after] > _EFFECTS[before]
            yield Change("steps", text, "high" if grown else "low", about=f"steps.{new.path}")
    if _work(old) != _work(new) and not any(say(old) != say(new) for say in _PARTS.values()):
        text = f"step {new.path!r} does something else"
        yield Change("steps", text, "low", about=f"steps.{new.path}")


_EFFECTS: Final[Mapping[str, int]] = {"pure": 0, "idempotent": 1, "once": 2}

_PARTS: Final[Mapping[str, Callable[[PlanStep], str]]] = {
    "kind": lambda step: step.kind,
    "effects": lambda step: step.effects,
    "guard": lambda step: f"`{step.when.text.strip()}`" if step.when is not None else "",
    "branches": lambda step: "; ".join(
        f"{'else' if b.when is None else b.when.text.strip()} → {', '.join(b.targets) or 'end'}"
        for b in step.branches
    ),
    "join": lambda step: f"at least {step.join.n}" if step.join.n else step.join.mode,
    "timeout": lambda step: f"{step.timeout:g} s" if step.timeout is not None else "",
    "attempts": lambda step: str(step.retry.attempts),
}


def _work(step: PlanStep) -> JsonObject:
    """Return what a step does, wherever in the file it stands."""
    from dagflow.core.codec import encode

    found = encode(step)
    return {key: _placeless(value) for key, value in found.items() if key not in _ELSEWHERE}


_ELSEWHERE: Final = frozenset({"line", "column", "block", "compensate", "description", "child"})


def _placeless(value: JsonValue) -> JsonValue:
    if isinstance(value, dict):
        places = {"line", "column", "at"} if "ast" in value or "call" in value else {"at"}
        return {key: _placeless(item) for key, item in value.items() if key not in places}
    if isinstance(value, list):
        return [_placeless(item) for item in value]
    return value


def _bounds(old: Version, new: Version) -> Iterator[Change]:
    for what, value_of in _BOUNDS.items():
        before, after = value_of(old.bounds), value_of(new.bounds)
        if before == after:
            continue
        grown = after is None or (before is not None and after > before)
        text = f"{what}: {_amount(after)}, was {_amount(before)}"
        yield Change("bounds", text, "low" if grown else "none")
    yield from _cost(old.bounds.cost, new.bounds.cost)


def _cost(old: CostBound | None, new: CostBound | None) -> Iterator[Change]:
    """Yield a change of what a run costs at most; where nothing has a price it is not known."""
    before, after = _most(old), _most(new)
    if before != after:
        known = before is not None and after is not None
        grown = after is None or (known and after > before)  # type: ignore[operator]
        text = f"cost at most: {_money(after, new)}, was {_money(before, old)}"
        yield Change("bounds", text, "low" if grown else "none")


def _most(cost: CostBound | None) -> float | None:
    return None if cost is None else cost.most


def _money(amount: float | None, cost: CostBound | None) -> str:
    return "unknown" if amount is None else written(amount, cost.currency if cost else "")


_BOUNDS: Final[Mapping[str, Callable[[Bounds], float | None]]] = {
    "steps at most": lambda bounds: bounds.steps,
    "tokens at most": lambda bounds: bounds.tokens,
    "tool calls at most": lambda bounds: bounds.tool_calls,
    "items at most": lambda bounds: bounds.items,
    "seconds at most": lambda bounds: bounds.time_worst,
    "seconds at least": lambda bounds: bounds.time_best,
    "bytes of memory at most": lambda bounds: bounds.peak_memory,
}


def _amount(value: float | None) -> str:
    return "no bound" if value is None else f"{value:g}"


def _triggers(old: Version, new: Version) -> Iterator[Change]:
    if old.plan.triggers != new.plan.triggers:
        yield Change("triggers", "runs are started in another way", "low")


_AREAS: Final[tuple[Callable[[Version, Version], Iterator[Change]], ...]] = (
    _callers, _tools, _models, _secrets, _steps, _bounds, _triggers,
)  # fmt: skip


def _fields(schema: Schema) -> dict[str, Schema]:
    found = schema.get("properties") if isinstance(schema, dict) else None
    fields = found if isinstance(found, dict) else {}
    return {name: item if isinstance(item, dict | bool) else True for name, item in fields.items()}


def _required(schema: Schema) -> frozenset[str]:
    found = schema.get("required") if isinstance(schema, dict) else None
    names = found if isinstance(found, list) else []
    fields = _fields(schema)
    return frozenset(
        str(name)
        for name in names
        if not (isinstance(fields.get(str(name)), dict) and "default" in fields[str(name)])  # type: ignore[operator]
    )
