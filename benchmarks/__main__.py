"""`make bench`: dagflow beside the floors of this machine."""

from __future__ import annotations

import tempfile
from pathlib import Path

from benchmarks import check, compiling, floors, timing
from benchmarks.chain import STEPS, WIDE, chain_of, embedded, fan_of, transactions
from benchmarks.measure import (
    RESULTS,
    Bar,
    Figure,
    figures,
    interleaved,
    save,
    show,
    warn_when_busy,
)

ROUNDS = 7
FEWER = 3
"""Rounds of what takes seconds each."""
COMMIT = "floor: one commit, SQLAlchemy Core, WAL FULL"
RAW = "floor: one commit, sqlite3 driver, WAL FULL"
CHAIN = f"dagflow: chain of {STEPS}, WAL FULL, unfused"
FUSED = f"dagflow: chain of {STEPS}, WAL FULL, fused"
FAN = f"dagflow: 1 → {WIDE} → 1, WAL FULL, unfused"
BARS = [Bar(CHAIN, COMMIT, 3.0), Bar(FUSED, CHAIN, 1.0)]


def main() -> None:
    """Measure, print one table and write the results."""
    warn_when_busy()
    RESULTS.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=RESULTS) as name:
        folder = Path(name)
        rounds = {
            RAW: floors.sqlite_commit(folder),
            COMMIT: floors.sqlalchemy_commit(folder),
            CHAIN: embedded(folder, chain_of(STEPS), STEPS),
            FUSED: embedded(folder, chain_of(STEPS, fused=True), STEPS),
            FAN: embedded(folder, fan_of(WIDE), WIDE + 2),
        }
        taken = interleaved(rounds, ROUNDS)
        lines = figures(taken, "ms", BARS) + _transactions(folder)
        lines += check.lines(folder, ROUNDS) + compiling.lines(FEWER) + timing.lines(ROUNDS)
    show(lines)
    print(f"written to {save(lines)}")


def _transactions(folder: Path) -> list[Figure]:
    """Return how many transactions a run of the chain takes, unfused and fused."""
    plans = {CHAIN: chain_of(STEPS), FUSED: chain_of(STEPS, fused=True)}
    return [
        Figure(name=name, value=transactions(folder, plan), unit="commits")
        for name, plan in plans.items()
    ]


if __name__ == "__main__":
    main()
