"""The compiler alone, in process: how long, how it grows, and what a one-line edit costs.

Every round compiles a text that was never seen before (its numbers are others), so that nothing
that Python keeps of an earlier round is of use; only the re-check has what its memory holds.
"""

from __future__ import annotations

import gc
import itertools
import math
import statistics
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Final

import yaml

from benchmarks.check import workflow_of
from benchmarks.measure import Figure, Round, interleaved
from dagflow.compiler import compile_workflow
from dagflow.compiler.memory import Memory
from dagflow.compiler.source.parse import parse
from dagflow.core.source import Source, SourceLimits
from dagflow.core.tool import ToolCatalog

SIZES: Final[Mapping[int, float]] = {200: 150.0, 1_000: 1_000.0, 10_000: 12_000.0}
"""The most milliseconds that a compilation of so many steps may take."""

EDITED: Final = 1_000
MOST_AFTER_AN_EDIT: Final = 150.0
STEEPEST: Final = 1.2
"""The most that the slope of time over steps may be where both are logarithms: 1 is linear."""

LARGE: Final = SourceLimits(size=2**24, values=10**6)


def lines(count: int) -> list[Figure]:
    """Measure in so many rounds and return a line for each subject."""
    rounds = {name_of(steps): compiling(steps) for steps in SIZES}
    taken = interleaved({FLOOR: reading(EDITED), **rounds, RECHECK: rechecking(EDITED)}, count)
    middle = {name: statistics.median(values) for name, values in taken.items()}
    bars = {name_of(steps): most for steps, most in SIZES.items()} | {RECHECK: MOST_AFTER_AN_EDIT}
    growth = slope([(steps, middle[name_of(steps)]) for steps in SIZES])
    return [
        Figure(name=FLOOR, value=middle[FLOOR], unit="ms"),
        *(_figure(name, middle[name], "ms", bar) for name, bar in bars.items()),
        _figure("compile: growth (slope of log time over log steps)", growth, "", STEEPEST),
    ]


RECHECK: Final = f"compile again, one line edited, {EDITED:,} steps"


FLOOR: Final = f"floor: PyYAML's C loader reads the same {EDITED:,} steps"
"""Tells how fast the machine is now: the bars below are absolute."""


def reading(steps: int) -> Round:
    """Return a round of reading the YAML into plain values, and nothing else."""
    texts = _texts(steps)

    def once() -> float:
        text = next(texts)
        gc.collect()
        begun = time.perf_counter()
        yaml.load(text, yaml.CSafeLoader)  # a safe loader
        return (time.perf_counter() - begun) * 1000

    return once


def name_of(steps: int) -> str:
    """Return the name of a line."""
    return f"compile, {steps:,} steps"


def slope(points: list[tuple[int, float]]) -> float:
    """Return the slope of the least squares line through the logarithms of the points."""
    found = statistics.linear_regression(
        [math.log(steps) for steps, _ in points], [math.log(value) for _, value in points]
    )
    return found.slope


def _figure(name: str, value: float, unit: str, bar: float) -> Figure:
    return Figure(name=name, value=value, unit=unit, bar=bar, holds=value <= bar)


def compiling(steps: int) -> Round:
    """Return a round of one compilation, reading the YAML included."""
    texts = _texts(steps)

    def once() -> float:
        return _timed(Source("large.yaml", next(texts), LARGE))

    return once


def _texts(steps: int) -> Iterator[str]:
    return (workflow_of(steps, first=first) for first in itertools.count(1, 17))


def rechecking(steps: int) -> Round:
    """Return a round of one compilation after an edit of one line, by turns another kind of edit.

    The YAML is read before, as the bar asks; one edit in three moves all steps by a line.
    """
    memory, text = Memory(), workflow_of(steps)
    _timed(Source("large.yaml", text, LARGE), memory)
    edits = itertools.cycle(EDITS)
    numbers = itertools.count(1)

    def once() -> float:
        source = Source("large.yaml", next(edits)(text, next(numbers)), LARGE)
        parse(source)
        return _timed(source, memory)

    return once


def _moved(text: str, number: int) -> str:
    return text.replace("steps:\n", f"# edit {number}\nsteps:\n")


def _other_guard(text: str, number: int) -> str:
    return text.replace("inputs.region == 'r9'", f"inputs.region == 'r9{number}'")


def _other_expression(text: str, number: int) -> str:
    return text.replace("inputs.amount + 500\n", f"inputs.amount + {500 + number}\n")


EDITS: Final[tuple[Callable[[str, int], str], ...]] = (_moved, _other_guard, _other_expression)


def _timed(source: Source, memory: Memory | None = None) -> float:
    gc.collect()
    begun = time.perf_counter()
    result = compile_workflow(source, ToolCatalog(), memory=memory)
    taken = (time.perf_counter() - begun) * 1000
    if result.plan is None:
        raise SystemExit(f"the benchmark does not compile: {result.report.findings[:3]}")
    return taken
