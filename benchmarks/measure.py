"""Rounds of several subjects, interleaved, so that the machine's drift touches all alike."""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TypeAlias

RESULTS = Path(__file__).parent / "results"

Round: TypeAlias = Callable[[], float]
"""Does the work once and returns what it took, in the subject's unit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One line of the table. `ratio` is value / value of `against`; `bar` the most it may be.

    Where `bar` is None nothing is asked of the figure, and `holds` is None.
    """

    name: str
    value: float
    unit: str
    against: str | None = None
    ratio: float | None = None
    bar: float | None = None
    holds: bool | None = None


@dataclass(frozen=True, slots=True)
class Bar:
    """`subject` must take at most `most` times as long as `against`."""

    subject: str
    against: str
    most: float


def medians(rounds: Mapping[str, Round], count: int) -> dict[str, float]:
    """Return each subject's median over `count` interleaved rounds, after one to warm up."""
    taken: dict[str, list[float]] = {name: [] for name in rounds}
    for number in range(count + 1):
        for name, once in rounds.items():
            seconds = once()
            if number:
                taken[name].append(seconds)
    return {name: statistics.median(values) for name, values in taken.items()}


def figures(values: Mapping[str, float], units: Mapping[str, str], bars: list[Bar]) -> list[Figure]:
    """Return a line for each value, and one for each further bar of a subject."""
    lines = []
    for name, value in values.items():
        mine = [bar for bar in bars if bar.subject == name and bar.against in values]
        if not mine:
            lines.append(Figure(name=name, value=value, unit=units[name]))
        for bar in mine:
            ratio = value / values[bar.against]
            lines.append(
                Figure(
                    name=name,
                    value=value,
                    unit=units[name],
                    against=bar.against,
                    ratio=ratio,
                    bar=bar.most,
                    holds=ratio <= bar.most,
                )
            )
    return lines


def show(lines: list[Figure]) -> None:
    """Print the table."""
    print(f"{'subject':<58} {'value':>10} {'unit':<8} {'ratio':>6} {'bar':>6}")
    for line in lines:
        ratio = "" if line.ratio is None else f"{line.ratio:.2f}"
        bar = "" if line.bar is None else f"≤ {line.bar:g}"
        verdict = {True: "holds", False: "FAILS", None: ""}[line.holds]
        print(f"{line.name:<58} {line.value:>10.3f} {line.unit:<8} {ratio:>6} {bar:>6} {verdict}")
        if line.against:
            print(f"{'  against ' + line.against}")


def save(lines: list[Figure]) -> Path:
    """Write the results, keeping those of other benchmarks, and return the file."""
    RESULTS.mkdir(exist_ok=True)
    file = RESULTS / "latest.json"
    known = json.loads(file.read_text()) if file.exists() else []
    names = {(line.name, line.against) for line in lines}
    kept = [old for old in known if (old["name"], old["against"]) not in names]
    file.write_text(json.dumps(kept + [asdict(line) for line in lines], indent=1) + "\n")
    return file
