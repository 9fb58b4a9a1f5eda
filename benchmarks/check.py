"""`dagflow check` of large workflows, and the generator of those.

The workflow is a chain of diamonds: three steps read one, and the next reads all three. Three
steps of ten have a guard that compares an integer, an enum, a boolean or a text. No two steps have
the same expression, so that none is spared for having been met before.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final

from benchmarks.measure import Figure, Round, interleaved

FEW, MANY = 200, 1000
DIAMOND: Final = 4
"""How many steps a diamond adds: three beside each other and the one that joins them."""

FLOOR: Final = "floor: python -I -S -E -c pass"
HELP: Final = "dagflow --help"
CHECK: Final = f"dagflow check, {FEW} steps"
LIMITS: Final = {HELP: 150.0, CHECK: 400.0}
"""The most milliseconds each may take, start of the interpreter included."""

GUARDS: Final = (
    "inputs.amount == {n}",
    "inputs.tier == 'gold'",
    "inputs.urgent == true",
    "inputs.region == 'r{n}'",
    "inputs.amount < {n}",
)
HEAD: Final = """\
dagflow: 1
name: large
inputs:
  amount: {type: integer, minimum: 0, maximum: 10000}
  tier: {type: string, enum: [free, silver, gold]}
  urgent: boolean
  region: string
steps:
"""


def workflow_of(steps: int, first: int = 0) -> str:
    """Return the text of the workflow; the numbers in its expressions begin at `first`."""
    lines = (line for number in range(steps) for line in _step(number, first))
    return HEAD + "\n".join(lines) + "\n"


def _step(number: int, first: int) -> Iterator[str]:
    yield f"  s{number}:"
    if number % 10 in {3, 6, 9}:
        yield f"    when: {GUARDS[number // 3 % len(GUARDS)].format(n=number)}"
    before = number // DIAMOND * DIAMOND  # the step where this one's diamond opens
    others = [before] if number > before else range(max(before - DIAMOND + 1, 0), before)
    reads = [f"steps.?s{other}.output.orValue(0)" for other in others]
    yield f"    transform: {' + '.join([*reads, 'inputs.amount', str(first + number)])}"


def lines(folder: Path, count: int) -> list[Figure]:
    """Measure in so many rounds and return a line for each subject; files go into the folder."""
    taken = interleaved(_rounds(folder), count)
    return [_figure(name, values, taken[FLOOR]) for name, values in taken.items()]


def _figure(name: str, values: list[float], floor: list[float]) -> Figure:
    """Return a line: the median against its limit, and for the reader how many floors it is."""
    limit, value = LIMITS.get(name), statistics.median(values)
    if limit is None:
        return Figure(name=name, value=value, unit="ms")
    ratio = statistics.median(a / b for a, b in zip(values, floor, strict=True))
    return Figure(
        name=name,
        value=value,
        unit="ms",
        against=FLOOR,
        ratio=ratio,
        bar=limit,
        holds=value <= limit,
    )


def _rounds(folder: Path) -> Mapping[str, Round]:
    command = str(Path(sys.executable).with_name("dagflow"))
    return {
        FLOOR: _process([os.path.realpath(sys.executable), "-I", "-S", "-E", "-c", "pass"]),
        HELP: _process([command, "--help"]),
        CHECK: _process([command, "check", _written(folder, FEW)]),
        f"dagflow check, {MANY} steps": _process([command, "check", _written(folder, MANY)]),
    }


def _written(folder: Path, steps: int) -> str:
    file = folder / f"large-{steps}.yaml"
    file.write_text(workflow_of(steps))
    return str(file)


def _process(command: list[str]) -> Callable[[], float]:
    """Return a round of one process from its start to its end, with its bytecode cached."""
    given = {k: value for k, value in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}

    def once() -> float:
        begun = time.perf_counter()
        subprocess.run(command, check=True, env=given, capture_output=True)
        return (time.perf_counter() - begun) * 1000

    return once
