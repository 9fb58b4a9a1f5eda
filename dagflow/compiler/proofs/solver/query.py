"""Questions to the solver: can these expressions come out like this, all at once, and for what?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any, Final, Literal, TypeAlias

from dagflow.compiler.proofs.solver.encode import Encoding
from dagflow.compiler.proofs.solver.encoder import Encoder, TooLargeError
from dagflow.compiler.proofs.solver.reading import Reader, UnreadableError
from dagflow.compiler.proofs.solver.shapes import Formula, Logic, Sym
from dagflow.compiler.proofs.solver.variables import Root, Variables
from dagflow.core.plan import Expression
from dagflow.core.records import dataclass
from dagflow.core.values import JsonObject, JsonValue
from dagflow.expr.ast import Node, to_json, walk
from dagflow.expr.evaluate import ExpressionError, evaluate
from dagflow.expr.reads import paths_of

Outcome: TypeAlias = bool | Literal["error"]
"""How an expression comes out: true, false, or with an error."""

EFFORT: Final = 300_000
"""How much one question may cost, in Z3's own units, which are the same on every machine."""

BASE: Final = 25_000
"""What a question costs before Z3 has done anything, in the same units."""

LARGEST: Final = 2_000
"""Questions with more nodes than this are not asked."""


@dataclass(frozen=True, slots=True)
class Claim:
    """An expression, and how it is to come out."""

    node: Node
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class Answer:
    """What the solver says.

    "never": no values make the claims hold together. "sometimes": `values` do, which the CEL
    engine has confirmed, by root variable. "unknown": undecided within the effort, or what was
    found could not be confirmed.
    """

    verdict: Literal["never", "sometimes", "unknown"]
    values: JsonObject = field(default_factory=dict)
    effort: int = 0


UNKNOWN: Final = Answer("unknown")


@dataclass(frozen=True, slots=True)
class Solved:
    """What Z3 says by itself. `exact`: nothing was left unknown, so CEL must agree with it."""

    verdict: Literal["never", "sometimes", "unknown"]
    values: JsonObject | None = None
    exact: bool = False
    effort: int = 0


def ask(claims: Sequence[Claim], root: Root, *, effort: int = EFFORT) -> Answer:
    """Ask whether the claims can hold together; the same question has the same answer always."""
    found = solve(claims, root, effort=effort)
    if found.verdict != "sometimes":
        return Answer(found.verdict, effort=found.effort)
    if found.values is None or not confirmed(claims, found.values):
        return Answer("unknown", effort=found.effort)
    return Answer("sometimes", found.values, effort=found.effort)


def is_never(claims: Sequence[Claim], root: Root, *, effort: int = EFFORT) -> tuple[bool, int]:
    """Tell whether the claims can surely not hold together, and what it cost to ask."""
    posed = _pose(claims, root, effort)
    if posed is None:
        return False, BASE
    solver, variables, z3 = posed
    try:
        return _checked(solver, z3) == z3.unsat, _effort(solver)
    finally:
        variables.close()


def solve(claims: Sequence[Claim], root: Root, *, effort: int = EFFORT) -> Solved:
    """Ask Z3, in a context of its own, so that no other question influences the answer."""
    posed = _pose(claims, root, effort)
    if posed is None:
        return Solved("unknown", effort=BASE)
    solver, variables, z3 = posed
    try:
        return _solved(solver, variables, z3)
    finally:
        variables.close()


def _solved(solver: Any, variables: Variables, z3: Any) -> Solved:
    found = _checked(solver, z3)
    if found != z3.sat:
        verdict: Literal["never", "unknown"] = "never" if found == z3.unsat else "unknown"
        return Solved(verdict, effort=_effort(solver))
    reader = Reader(_plainest(solver, variables), variables.logic)
    values = _values(reader, variables)
    return Solved("sometimes", values, exact=variables.exact, effort=_effort(solver))


def _pose(claims: Sequence[Claim], root: Root, effort: int) -> tuple[Any, Variables, Any] | None:
    """Return a solver that holds the claims and what is known of what they read.

    None where they are too large to be asked.
    """
    if sum(1 for claim in claims for _ in walk(claim.node)) > LARGEST:
        return None
    import z3

    logic = Logic(z3.Context(), z3)
    variables = Variables(logic)
    encoder = Encoding(variables, root)
    try:
        asked = [_formula(encoder, claim) for claim in claims]
    except TooLargeError:
        variables.close()
        return None
    solver = z3.Solver(ctx=logic.context)
    solver.set("rlimit", effort)
    solver.add(*variables.facts, *asked)
    return solver, variables, z3


def _plainest(solver: Any, variables: Variables) -> Any:
    """Return a model that a person can read, where there is one: small numbers, plain texts."""
    model, z3 = solver.model(), variables.logic.z3
    for wishes in (variables.plain, variables.readable):
        solver.push()
        solver.add(*wishes)
        if _checked(solver, z3) == z3.sat:
            model = solver.model()
        else:
            solver.pop()
    return model


def _checked(solver: Any, z3: Any) -> Any:
    """Return Z3's verdict; what it gives up on (it says so by raising) is unknown."""
    try:
        return solver.check()
    except z3.Z3Exception:
        return z3.unknown


def _formula(encoder: Encoder, claim: Claim) -> Formula:
    sym = encoder.encode(claim.node, {})
    if claim.outcome == "error":
        return encoder.logic.no(_defined(encoder, sym))
    holds, fails = encoder.logic.truth(sym)
    return holds if claim.outcome else fails


def _defined(encoder: Encoder, sym: Sym) -> Formula:
    return encoder.logic.defined(sym)


def _effort(solver: Any) -> int:
    statistics = solver.statistics()
    return BASE + next((int(value) for key, value in statistics if key == "rlimit count"), 0)


def _values(reader: Reader, variables: Variables) -> JsonObject | None:
    try:
        return {name: reader.value(known) for name, known in variables.roots.items()}
    except (UnreadableError, OverflowError):
        return None


def confirmed(claims: Sequence[Claim], values: Mapping[str, JsonValue]) -> bool:
    """Tell whether CEL agrees: with these values, each expression comes out as claimed."""
    return all(outcome(claim.node, values) == claim.outcome for claim in claims)


def outcome(node: Node, values: Mapping[str, JsonValue]) -> Outcome | None:
    """Return how CEL evaluates an expression; None where it gives something else than a truth."""
    expression = Expression("", to_json(node), tuple(paths_of(node)))
    try:
        found = evaluate(expression, values)
    except ExpressionError:
        return "error"
    return found if isinstance(found, bool) else None
