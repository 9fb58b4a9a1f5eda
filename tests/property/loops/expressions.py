"""Draws expressions over what a block can read, with what they mean."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from random import Random

from dagflow.core.values import JsonValue
from tests.property.loops.choices import rarely
from tests.property.loops.parts import Expr, NoValueError, Part, Sight


@dataclass(frozen=True)
class Around:
    """What can be read from a block: steps, by kind, and variables that are numbers.

    `previous` tells whether the turn before gave an object with a number `v`.
    """

    depth: int = 0
    work: tuple[str, ...] = ()
    loops: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    numbers: tuple[str, ...] = ()
    previous: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        return (*self.work, *self.loops, *self.others)

    def with_step(self, step: Part) -> Around:
        if step.kind == "work":
            return replace(self, work=(*self.work, step.name))
        if step.kind == "foreach":
            return replace(self, loops=(*self.loops, step.name))
        return replace(self, others=(*self.others, step.name))

    def without(self, names: set[str]) -> Around:
        """Return what is read by a step that begins where these did not succeed."""
        kept = [
            tuple(it for it in among if it not in names)
            for among in (self.work, self.loops, self.others)
        ]
        return replace(self, work=kept[0], loops=kept[1], others=kept[2])

    def inside(self, *own: str, previous: bool) -> Around:
        """Return what is read one block further in."""
        known = tuple(dict.fromkeys((*self.numbers, *own)))
        return replace(self, depth=self.depth + 1, numbers=known, previous=previous)

    def with_steps(self, made: tuple[Part, ...]) -> Around:
        found = self
        for step in made:
            found = found.with_step(step)
        return found


# ── what is read ──────────────────────────────────────────────────────────────────────────────


def variable(name: str) -> Expr:
    if name == "inputs.n":
        return Expr(name, lambda sight: sight.n)
    return Expr(name, lambda sight: sight.variable(name))


def output(name: str) -> Expr:
    return Expr(
        f"steps.{name}.output", lambda sight: sight.step(name).output, plain=frozenset({name})
    )


def field(name: str, default: int | None = None) -> Expr:
    """Return the number that work gave, plainly or with a default."""

    def value(sight: Sight) -> JsonValue:
        seen = sight.step(name)
        if seen.state != "succeeded":
            if default is None:
                raise NoValueError
            return default
        assert isinstance(seen.output, dict)
        return seen.output["v"]

    if default is None:
        return Expr(f"steps.{name}.output.v", value, plain=frozenset({name}))
    return _ordered(name, f"steps.?{name}.output.?v.orValue({default})", value)


def status(name: str) -> Expr:
    return _ordered(
        name, f"steps.{name}.status", lambda sight: sight.step(name).state.partition("(")[0]
    )


def error(name: str) -> Expr:
    cel = f'steps.?{name}.error.class.orValue("")'
    return _ordered(name, cel, lambda sight: sight.step(name).error)


def errors(name: str) -> Expr:
    """Return the places of the items that failed."""
    cel = f"steps.{name}.errors.map(e, e.index)"
    return _ordered(name, cel, lambda sight: list(sight.step(name).errors))


def previous_field() -> Expr:
    def value(sight: Sight) -> JsonValue:
        previous = sight.variable("previous")
        assert isinstance(previous, dict)
        return previous.get("v", -1)

    return Expr("previous.?v.orValue(-1)", value)


def _ordered(name: str, cel: str, value: Callable[[Sight], JsonValue]) -> Expr:
    return Expr(cel, value, ordering=frozenset({name}))


# ── what is made of it ────────────────────────────────────────────────────────────────────────


def made(of: Expr, cel: str, meaning: Callable[[JsonValue], JsonValue]) -> Expr:
    """Return an expression over another one."""
    return Expr(cel, lambda sight: meaning(of.value(sight)), of.plain, of.ordering)


def divided(above: int, below: int) -> int:
    """Divide as CEL does: towards zero, and not by it."""
    if below == 0:
        raise NoValueError
    return int(above / below)


def quotient(of: Expr, offset: int) -> Expr:
    """Return an expression that fails for one value."""
    cel = f"6 / ({of.cel} - {offset})" if offset >= 0 else f"6 / ({of.cel} + {-offset})"
    return made(of, cel, lambda value: divided(6, _int(value) - offset))


def is_above(of: Expr, limit: int) -> Expr:
    return made(of, f"{of.cel} > {limit}", lambda value: _int(value) > limit)


def equals(of: Expr, text: str) -> Expr:
    return made(of, f'{of.cel} == "{text}"', lambda value: value == text)


def _int(value: JsonValue) -> int:
    assert isinstance(value, int)
    return value


# ── draws ─────────────────────────────────────────────────────────────────────────────────────


def numbers(rng: Random, around: Around, *, plain: bool = True) -> Expr:
    """Draw an expression for an integer."""
    kinds = ["variable"] * 2 + ["default"] * 2 * bool(around.work)
    kinds += ["plain"] * (plain and bool(around.work)) + ["previous"] * around.previous
    kind = rng.choice(kinds)
    if kind == "variable":
        return variable(rng.choice(["inputs.n", *around.numbers * 2]))
    if kind == "previous":
        return previous_field()
    return field(rng.choice(around.work), None if kind == "plain" else -1)


def guards(rng: Random, around: Around, *, plain: bool = True) -> Expr:
    """Draw a condition, which may fail."""
    kind = rng.choice(["above", "above", "above", "quotient", "status"])
    if kind == "status" and around.names:
        state = rng.choice(["succeeded", "failed", "skipped"])
        return equals(status(rng.choice(around.names)), state)
    one = numbers(rng, around, plain=plain)
    limit = rng.choice((0, -1, 1, 2, 3))
    return is_above(quotient(one, limit), 1) if kind == "quotient" else is_above(one, limit)


def arguments(rng: Random, around: Around) -> Expr:
    """Draw any value."""
    kinds = ["number", "number", "number"] + ["quotient"] * rarely(rng, 3)
    kinds += ["output", "status", "error"] if around.names else []
    kinds += ["errors"] if around.loops else []
    kinds += ["previous"] if "turn" in around.numbers else []
    kind = rng.choice(kinds)
    if kind in _OF_STEPS:
        return _OF_STEPS[kind](rng.choice(around.loops if kind == "errors" else around.names))
    if kind == "previous":
        return variable("previous")
    one = numbers(rng, around)
    return quotient(one, rng.randint(-1, 3)) if kind == "quotient" else one


_OF_STEPS = {"output": output, "status": status, "error": error, "errors": errors}


def lists(rng: Random, around: Around) -> Expr:
    """Draw a list of integers, of which some can't be made."""
    kind = rng.choice(["all", "all", "all", "filter", "filter", "map", "errors"])
    if kind == "errors" and around.loops:
        return errors(rng.choice(around.loops))
    if kind not in {"filter", "map"}:
        return Expr("inputs.xs", lambda sight: list(sight.xs))
    one = numbers(rng, around)

    def filtered(sight: Sight) -> JsonValue:
        return [x for x in sight.xs if x > _int(one.value(sight))]

    def mapped(sight: Sight) -> JsonValue:
        return [divided(6, x - _int(one.value(sight))) for x in sight.xs]

    if kind == "filter":
        return replace(one, cel=f"inputs.xs.filter(x, x > {one.cel})", value=filtered)
    return replace(one, cel=f"inputs.xs.map(x, 6 / (x - {one.cel}))", value=mapped)


def collects(rng: Random, around: Around) -> Expr:
    """Draw what a frame gives: a number as the field `v`, which may fail."""
    one = numbers(rng, around, plain=rarely(rng, 8))
    if rarely(rng, 4):
        one = quotient(one, rng.randint(-1, 3))
    return made(one, f'{{"v": {one.cel}}}', lambda value: {"v": value})
