"""Rounds of several subjects, interleaved, so that the machine's drift touches all alike."""

from __future__ import annotations

import json
import os
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
    """One line of the table. `ratio` compares with `against`; `bar` is the most it may be.

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


def interleaved(rounds: Mapping[str, Round], count: int) -> dict[str, list[float]]:
    """Return each subject's values over `count` interleaved rounds, after one to warm up."""
    taken: dict[str, list[float]] = {name: [] for name in rounds}
    for number in range(count + 1):
        for name, once in rounds.items():
            value = once()
            if number:
                taken[name].append(value)
    return taken


def figures(taken: Mapping[str, list[float]], unit: str, bars: list[Bar]) -> list[Figure]:
    """Return a line for each subject (its median), or one for each of its bars.

    A ratio is the median of the rounds' ratios: both sides of one were measured within seconds,
    so a disk that is slow for a while is slow for both.
    """
    lines = []
    for name, values in taken.items():
        median = statistics.median(values)
        mine = [bar for bar in bars if bar.subject == name and bar.against in taken]
        if not mine:
            lines.append(Figure(name=name, value=median, unit=unit))
        for bar in mine:
            others = taken[bar.against]
            ratio = statistics.median(a / b for a, b in zip(values, others, strict=True))
            lines.append(
                Figure(
                    name=name,
                    value=median,
                    unit=unit,
                    against=bar.against,
                    ratio=ratio,
                    bar=bar.most,
                    holds=ratio <= bar.most,
                )
            )
    return lines


def show(lines: list[Figure]) -> None:
    """Print the table."""
    print(f"{'subject':<58} {'value':>10} {'unit':<8} {'ratio':>6} {'bar':>8}")
    for line in lines:
        ratio = "" if line.ratio is None else f"{line.ratio:.2f}"
        bar = "" if line.bar is None else f"≤ {line.bar:,.10g}"
        verdict = {True: "holds", False: "FAILS", None: ""}[line.holds]
        print(f"{line.name:<58} {line.value:>10.3f} {line.unit:<8} {ratio:>6} {bar:>8} {verdict}")
        if line.against:
            print(f"{'  against ' + line.against}")


def warn_when_busy() -> None:
    """Say so when other programs want the processors, too: figures then tell little."""
    load, cores = os.getloadavg()[0], os.cpu_count() or 1
    if load > cores / 2:
        print(
            f"this machine is busy (load {load:.1f} on {cores} cores): measure again when it isn't"
        )


def save(lines: list[Figure]) -> Path:
    """Write the results, keeping those of other benchmarks, and return the file."""
    RESULTS.mkdir(exist_ok=True)
    file = RESULTS / "latest.json"
    known = json.loads(file.read_text()) if file.exists() else []
    names = {(line.name, line.against) for line in lines}
    kept = [old for old in known if (old["name"], old["against"]) not in names]
    file.write_text(json.dumps(kept + [asdict(line) for line in lines], indent=1) + "\n")
    return file
