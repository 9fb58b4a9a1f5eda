"""The state machine of one step, from the moves that a plan lists for it."""

from __future__ import annotations

import json
from collections.abc import Iterator

from dagflow.compiler.report.dot import quoted as dot_quoted
from dagflow.compiler.report.mermaid import quoted
from dagflow.compiler.report.svg import box, curve, document, group, text
from dagflow.core.errors import NotFoundError
from dagflow.core.plan import Constraint, Plan
from dagflow.core.records import dataclass
from dagflow.core.states import STATES
from dagflow.core.values import JsonObject, JsonValue
from dagflow.core.words import nearest

_WIDTH, _HEIGHT, _GAP_X, _GAP_Y, _MARGIN, _LINE = 206.0, 36.0, 70.0, 26.0, 24.0, 20.0

_FINALS = ("skipped(upstream)", "skipped(guard)", "cancelled", "failed", "timed_out", "succeeded")
"""The column at the right, from the top: what a step that waits can become comes first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StatesView:
    """The moves of a step, in the order of the language's table, and the states they join."""

    step: str
    moves: tuple[Constraint, ...]

    @property
    def states(self) -> tuple[str, ...]:
        """Return the states that some move leaves or enters."""
        seen = {state for move in self.moves for state in (move.before, move.after)}
        return tuple(state for state in STATES if state in seen)


def view_of(plan: Plan, step: str) -> StatesView:
    """Return the moves of the step at a static path. Raises `NotFoundError` if there is none."""
    moves = tuple(move for move in plan.constraints if move.step == step)
    if moves:
        return StatesView(step=step, moves=moves)
    known = dict.fromkeys(move.step for move in plan.constraints)
    remedy = f"steps are {', '.join(known)}" if known else "the plan has no steps"
    raise NotFoundError(f"the plan has no step {step!r}{nearest(step, known)}", remedy=remedy)


def as_text(view: StatesView) -> str:
    """Return one line a move: from, to, and its condition."""
    before = max(len(move.before) for move in view.moves)
    after = max(len(move.after) for move in view.moves)
    return "".join(
        f"{move.before:<{before}} → {move.after:<{after}}  {move.guard}".rstrip() + "\n"
        for move in view.moves
    )


def as_mermaid(view: StatesView) -> str:
    """Return a state diagram."""
    names = {state: f"s{index}" for index, state in enumerate(view.states)}
    lines = ["stateDiagram-v2", "  direction LR"]
    lines += [f'  state "{quoted(state)}" as {name}' for state, name in names.items()]
    lines += [f"  [*] --> {names[state]}" for state in view.states if state == "pending"]
    lines += [
        f"  {names[move.before]} --> {names[move.after]}: {_mermaid_guard(move)}"
        for move in view.moves
    ]
    lines += [f"  {names[state]} --> [*]" for state in view.states if _is_final(view, state)]
    return "\n".join(lines) + "\n"


def _mermaid_guard(move: Constraint) -> str:
    return quoted(move.guard).replace(":", "#58;").replace(";", "#59;").replace("#59#59;", "#59;")


def as_dot(view: StatesView) -> str:
    """Return a digraph of the states."""
    lines = [
        f"digraph {dot_quoted(view.step)} {{",
        "  rankdir=LR; node [shape=box, style=rounded];",
    ]
    lines += [
        f"  {dot_quoted(m.before)} -> {dot_quoted(m.after)} [label={dot_quoted(m.guard)}];"
        for m in view.moves
    ]
    return "\n".join([*lines, "}"]) + "\n"


def as_json(view: StatesView) -> str:
    """Return the moves as JSON text."""
    moves: list[JsonValue] = [
        {"from": move.before, "to": move.after, "guard": move.guard} for move in view.moves
    ]
    whole: JsonObject = {"schema_version": 1, "step": view.step, "moves": moves}
    return json.dumps(whole, ensure_ascii=False, indent=2) + "\n"


def _is_final(view: StatesView, state: str) -> bool:
    return all(move.before != state for move in view.moves)


def as_svg(view: StatesView) -> str:
    """Return a drawing: states in columns, moves numbered, their conditions listed below."""
    corners = {
        state: (_MARGIN + x * (_WIDTH + _GAP_X), _MARGIN + y * (_HEIGHT + _GAP_Y))
        for state, (x, y) in _cells(view).items()
    }
    below = max(y for _, y in corners.values()) + _HEIGHT + _MARGIN
    arrows = [_move(view, index, corners) for index in range(len(view.moves))]
    boxes = [_state(state, *corner) for state, corner in corners.items()]
    legend = list(_legend(view, below))
    longest = max(len(line) for line in _lines(view))
    right = max(x for x, _ in corners.values()) + _WIDTH
    width = max(right, longest * 6.2) + _MARGIN
    height = below + _LINE * (len(view.moves) + 1)
    body = "".join((*arrows, *boxes, *legend))
    return document(width, height, f"states of {view.step}", body)


def _cells(view: StatesView) -> dict[str, tuple[int, int]]:
    """Return the column and row of each state: down a staircase, the ends at its right."""
    begun = [state for state in view.states if state in {"pending", "ready", "running"}]
    waits = [state for state in view.states if state.startswith("waiting")]
    ends = [state for state in _FINALS if state in view.states]
    cells = {state: (index, index + 1) for index, state in enumerate(begun)}
    cells.update({state: (3, 4 + index) for index, state in enumerate(waits)})
    last = 4 if waits else len(begun)
    cells.update({state: (last, index) for index, state in enumerate(ends)})
    return cells


def _state(state: str, x: float, y: float) -> str:
    kind = "box"
    if state.startswith("waiting"):
        kind = "box wait"
    elif state == "succeeded":
        kind = "box good"
    elif state in {"failed", "timed_out"}:
        kind = "box bad"
    body = box(x, y, _WIDTH, _HEIGHT, kind) + text(x + 14, y + 23, state)
    return group(body, state=state)


def _move(view: StatesView, index: int, corners: dict[str, tuple[float, float]]) -> str:
    move = view.moves[index]
    (x0, y0), (x1, y1) = corners[move.before], corners[move.after]
    share = (index + 1) / (len(view.moves) + 1)
    out_y, in_y = y0 + _HEIGHT * (0.2 + 0.6 * share), y1 + _HEIGHT * (0.2 + 0.6 * share)
    leaves, enters = (x0 + _WIDTH, x1) if x1 > x0 else (x0, x1 + _WIDTH)
    points = ((leaves, out_y), (enters, in_y))
    body = curve(points) + text(*_quarter(*points), str(index + 1), "label")
    title = f"{index + 1}. {move.before} → {move.after}: {move.guard}"
    return group(body, title=title)


def _quarter(start: tuple[float, float], end: tuple[float, float]) -> tuple[float, float]:
    """Return a place beside the arrow, where it has begun to leave the others."""
    (x0, y0), (x1, y1) = start, end
    share = 0.35
    bend = (x0 + x1) / 2
    x = (1 - share) ** 3 * x0 + 3 * share * (1 - share) * bend + share**3 * x1
    y = (1 - share) ** 2 * (1 + 2 * share) * y0 + share**2 * (3 - 2 * share) * y1
    return x, y - 4


def _lines(view: StatesView) -> Iterator[str]:
    for index, move in enumerate(view.moves, start=1):
        yield f"{index}. {move.before} → {move.after}:  {_cut(move.guard)}"


def _cut(guard: str) -> str:
    longest = 150
    return guard if len(guard) <= longest else f"{guard[: longest - 1]}…"


def _legend(view: StatesView, below: float) -> Iterator[str]:
    for index, line in enumerate(_lines(view)):
        yield text(_MARGIN, below + _LINE * (index + 0.6), line, "kind")
