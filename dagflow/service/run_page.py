"""A run as one self-contained page: outcome, outputs, a timeline of its steps, and each step."""

from __future__ import annotations

from datetime import datetime
from typing import cast

from dagflow.core.page import badge, facts, json_block, page, text
from dagflow.core.values import JsonObject, JsonValue


def run_page(view: JsonObject, *, graph: str = "") -> str:
    """Return the page of `views.run_view`; `graph` is an SVG of the plan, or ""."""
    run = cast("JsonObject", view["run"])
    steps = cast("dict[str, JsonObject]", view["steps"])
    figure = f"<section><h2>Graph</h2><figure>{graph}</figure></section>" if graph else ""
    body = "\n".join((_head(run), _outputs(run), _timeline(run, steps), figure, _steps(steps)))
    return page(f"{run['workflow']} — run {run['id']}", body)


def _head(run: JsonObject) -> str:
    rows = [
        ("run", f"<code>{text(run['id'])}</code>"),
        ("plan", f"<code>{text(run['plan'])}</code>"),
        ("started", text(run["started_at"] or "—")),
        ("finished", text(run["finished_at"] or "—")),
        ("took", text(_seconds(run["started_at"], run["finished_at"]))),
        *((f"used: {name}", text(count)) for name, count in _object(run["used"]).items()),
    ]
    error = _object(run["error"])
    if error:
        rows.append(("error", text(f"{error['class']}: {error['message']}")))
    status = badge(str(run["status"]))
    return f"<header><h1>{text(run['workflow'])} {status}</h1>{facts(rows)}</header>"


def _outputs(run: JsonObject) -> str:
    inputs = f"<details><summary>Inputs</summary>{json_block(run['inputs'])}</details>"
    return f"<section><h2>Outputs</h2>{json_block(run['outputs'])}{inputs}</section>"


def _timeline(run: JsonObject, steps: dict[str, JsonObject]) -> str:
    times = [_instant(step[name]) for step in steps.values() for name in _TIMES]
    known = [time for time in [*times, _instant(run["started_at"])] if time is not None]
    if not known:
        return ""
    start, whole = min(known), max(max(known) - min(known), 1e-6)
    rows = "".join(_row(path, step, start, whole) for path, step in steps.items())
    head = (
        "<tr><th>step</th><th>state</th><th class='number'>attempts</th>"
        "<th class='number'>time</th><th>when</th></tr>"
    )
    return f"<section><h2>Timeline</h2><table>{head}{rows}</table></section>"


_TIMES = ("ready_at", "started_at", "finished_at")


def _row(path: str, step: JsonObject, start: float, whole: float) -> str:
    ready, started, finished = (_instant(step[name]) for name in _TIMES)
    bars = _bar(ready, started or finished, start, whole, "wait")
    bars += _bar(started, finished, start, whole, str(step["status"]))
    state = f"{step['status']}({step['reason']})" if step["reason"] else str(step["status"])
    return (
        f"<tr><td><a href='#{text(path)}'>{text(path)}</a></td>"
        f"<td>{badge(state, str(step['status']))}</td><td class='number'>{step['attempts']}</td>"
        f"<td class='number'>{_seconds(step['started_at'], step['finished_at'])}</td>"
        f"<td class='bars {text(step['status'])}'>{bars}</td></tr>"
    )


def _bar(begin: float | None, end: float | None, start: float, whole: float, style: str) -> str:
    if begin is None or end is None:
        return ""
    left, width = (begin - start) / whole * 100, (end - begin) / whole * 100
    return f"<i class='{text(style)}' style='left:{left:.2f}%;width:{width:.2f}%'></i>"


def _steps(steps: dict[str, JsonObject]) -> str:
    return f"<section><h2>Steps</h2>{''.join(map(_step, steps.items()))}</section>"


def _step(item: tuple[str, JsonObject]) -> str:
    path, step = item
    state = badge(str(step["status"]))
    shown = json_block(step["output"]) if "output" in step else ""
    error = _object(step["error"])
    why = f"<p class='error'>{text(error['class'])}: {text(error['message'])}</p>" if error else ""
    return (
        f"<details id='{text(path)}'><summary>{text(path)} {state}</summary>{why}{shown}</details>"
    )


def _object(value: JsonValue) -> JsonObject:
    return value if isinstance(value, dict) else {}


def _instant(value: JsonValue) -> float | None:
    return datetime.fromisoformat(value).timestamp() if isinstance(value, str) else None


def _seconds(begin: JsonValue, end: JsonValue) -> str:
    first, last = _instant(begin), _instant(end)
    return "—" if first is None or last is None else f"{last - first:.3f} s"
