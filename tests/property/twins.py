"""Random workflows in which steps are alike, and follow one another: what merging and fusing see.

Work is `transform`, which is evaluated, and `python`, which is scripted: by its name alone a step
always succeeds with the same value, or always fails.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from random import Random

WAYS = ("success", "success", "success", "success", "done", "failure", "skipped")
FAILING = "f"
"""A python step whose name ends so fails."""


@dataclass(frozen=True)
class Twin:
    """One step as it is written; `gives` tells how its output is read: "" for a switch or loop."""

    lines: tuple[str, ...]
    gives: str = "output"


def workflow(rng: Random) -> str:
    """Return the text of a workflow with the input `n`."""
    steps = _steps(rng, "s", rng.randint(3, 9), nested=True)
    lines = ["dagflow: 1", "name: twins", "inputs: {n: integer}", "steps:"]
    for name, step in steps.items():
        lines += [f"  {name}:", *(f"    {line}" for line in step.lines)]
    if rng.random() < 0.2:
        lines += ["finally:", "  last:", "    transform: run.status"]
    return "\n".join([*lines, *_outputs(rng, steps), ""])


def _outputs(rng: Random, steps: dict[str, Twin]) -> list[str]:
    lines = []
    for name, step in steps.items():
        if step.gives and rng.random() < 0.5:
            path = f"steps.?{name}.{step.gives.replace('.', '.?')}"
            lines.append(f"  o{name}: ${{{{ {path}.orValue(-1) }}}}")
        if rng.random() < 0.2:
            lines.append(f"  t{name}: ${{{{ steps.{name}.status }}}}")
    return ["outputs:", *lines] if lines else ["outputs: {}"]


def _steps(rng: Random, prefix: str, count: int, *, nested: bool) -> dict[str, Twin]:
    steps: dict[str, Twin] = {}
    for index in range(count):
        alike = [name for name, step in steps.items() if step.gives == "output"]
        if alike and rng.random() < 0.4:
            name, twin = f"{prefix}{index}", steps[rng.choice(alike)]
            steps[name] = replace(twin, lines=_altered(rng, _spaced(rng, twin.lines)))
            continue
        name, step = _step(rng, f"{prefix}{index}", steps, nested=nested)
        steps[name] = step
    return steps


def _spaced(rng: Random, lines: tuple[str, ...]) -> tuple[str, ...]:
    """Write the same with other spaces, sometimes."""
    return tuple(line.replace(" + ", "  +  ") for line in lines) if rng.random() < 0.3 else lines


def _altered(rng: Random, lines: tuple[str, ...]) -> tuple[str, ...]:
    """Write something that is nearly the same, sometimes: the guard or an edge differs."""
    chance = rng.random()
    if chance < 0.15:
        bare = tuple(line for line in lines if not line.startswith("when:"))
        return bare if bare != lines else ('when: "inputs.n > 1"', *lines)
    if chance < 0.25:
        return tuple(line.replace('"on": "success"', '"on": "done"') for line in lines)
    return tuple(line for line in lines if chance > 0.3 or not line.startswith("after:"))


def _step(rng: Random, name: str, steps: dict[str, Twin], *, nested: bool) -> tuple[str, Twin]:
    common, counts = _control(rng, steps)
    kind = rng.random()
    steps = {} if counts else steps  # what it would see of them depends on time
    if kind < 0.62:
        expression = json.dumps(_expression(rng, steps, item=not nested))
        return name, Twin((*common, f"transform: {expression}"))
    if kind < 0.9:
        name += FAILING if rng.random() < 0.15 else ""
        argument = f"${{{{ {_expression(rng, steps, item=not nested)} }}}}"
        once = ("effects: once",) if rng.random() < 0.3 else ()
        code = 'python: "def main(**a): return {\\"v\\": 1}"'
        return name, Twin(
            (*common, code, "output: {v: integer}", f"with: {{a: {json.dumps(argument)}}}", *once),
            gives="output.v",
        )
    if nested and kind < 0.96:
        return name, _loop(rng, name, common)
    rows = [{"when": _guard(rng, steps), "then": "end"}, {"else": "end"}]
    return name, Twin((*common, f"switch: {json.dumps(rows)}"), gives="")


def _loop(rng: Random, name: str, common: tuple[str, ...]) -> Twin:
    inner = _steps(rng, f"{name}x", rng.randint(2, 4), nested=False)
    body = ", ".join(f"{path}: {{{', '.join(step.lines)}}}" for path, step in inner.items())
    last = next((path for path, step in inner.items() if step.gives), "")
    path = f"steps.?{last}.{inner[last].gives.replace('.', '.?')}" if last else ""
    gives = json.dumps(f"{path}.orValue(0)" if last else "0")
    looped = f'items: "[1, inputs.n]", max_items: 2, collect: {gives}, steps: {{{body}}}'
    return Twin((*common, f"foreach: {{{looped}}}"), gives="")


def _control(rng: Random, steps: dict[str, Twin]) -> tuple[tuple[str, ...], bool]:
    """Return edges, join and guard, and whether the join counts."""
    lines = []
    join = ""
    names = list(steps)
    if names and rng.random() < 0.6:
        recent = names[-1:] if rng.random() < 0.6 else rng.sample(names, min(len(names), 2))
        edges = [{"step": it, "on": rng.choice(WAYS)} for it in recent]
        lines.append(f"after: {json.dumps(edges)}")
        if len(edges) > 1 and rng.random() < 0.3:
            join = rng.choice(["any", "{at_least: 1}", "{at_least: 2}"])
            lines.append(f"join: {join}")
    counts = "at_least" in join
    if rng.random() < 0.25:
        lines.append(f"when: {json.dumps(_guard(rng, {} if counts else steps))}")
    return tuple(lines), counts


def _guard(rng: Random, steps: dict[str, Twin]) -> str:
    found = ["inputs.n > 1", "inputs.n > 1", "true", "inputs.n < 3"]
    found += [f'steps.{name}.status == "succeeded"' for name in list(steps)[-2:]]
    return rng.choice(found)


def _expression(rng: Random, steps: dict[str, Twin], *, item: bool) -> str:
    found = ["1", "inputs.n + 1", "10 / inputs.n + 1"]
    found += ["item + 1"] * 3 if item else []
    for name, step in list(steps.items())[-3:]:
        if step.gives:
            optional = step.gives.replace(".", ".?")
            found += [f"steps.{name}.{step.gives} + 1"] * 2
            found += [f"steps.?{name}.{optional}.orValue(0) + 1"]
            found += [f'steps.{name}.status == "succeeded" ? 1 : 0']
    return rng.choice(found)
