"""`make bench-peers`: dagflow and its peers, interleaved on one machine, in one table."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks import floors
from benchmarks.chain import STEPS, WIDE, chain_of, embedded, fan_of
from benchmarks.measure import RESULTS, Bar, figures, interleaved, save, show, warn_when_busy

HERE = Path(__file__).parent
VENV = HERE.parent.parent / ".venv-peers"
PACKAGES = ("langgraph", "langgraph-checkpoint-sqlite", "dbos")
ROUNDS = 9

COMMIT = "floor: one commit, SQLAlchemy Core, WAL FULL"
CHAIN = f"dagflow: chain of {STEPS}, WAL FULL, unfused"
FAN = f"dagflow: 1 → {WIDE} → 1, WAL FULL, unfused"
LANGGRAPH_CHAIN = f"LangGraph SqliteSaver sync: chain of {STEPS}, WAL FULL"
LANGGRAPH_FAN = f"LangGraph SqliteSaver sync: 1 → {WIDE} → 1, WAL FULL"
DBOS_CHAIN = f"DBOS on SQLite: chain of {STEPS}"
DBOS_FAN = f"DBOS on SQLite: 1 → {WIDE} → 1"
BARS = [
    Bar(CHAIN, LANGGRAPH_CHAIN, 1.0),
    Bar(CHAIN, DBOS_CHAIN, 0.4),
    Bar(CHAIN, COMMIT, 3.0),
    Bar(FAN, LANGGRAPH_FAN, 1.0),
    Bar(FAN, DBOS_FAN, 0.4),
]


class Peer:
    """A peer's process: asked for one round at a time."""

    def __init__(self, script: str, file: Path, shape: str, size: int) -> None:
        self._process = subprocess.Popen(
            [str(VENV / "bin/python"), str(HERE / script), str(file), shape, str(size)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=file.parent,
        )
        if self._line() != "ready":
            raise SystemExit(f"{script} did not start; see above")

    def once(self) -> float:
        """Do one round: milliseconds a step."""
        assert self._process.stdin is not None
        self._process.stdin.write("go\n")
        self._process.stdin.flush()
        return float(self._line())

    def close(self) -> None:
        """End the process."""
        self._process.communicate(timeout=30)

    def _line(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()


def installed() -> None:
    """Make the peers' environment, unless it is there."""
    if (VENV / "bin/python").exists() and (VENV / ".ready").exists():
        return
    subprocess.run([sys.executable, "-m", "venv", str(VENV)], check=True)
    (VENV / ".gitignore").write_text("*\n")
    subprocess.run([str(VENV / "bin/pip"), "install", "--quiet", *PACKAGES], check=True)
    (VENV / ".ready").touch()


def main() -> None:
    """Measure, print one table and write the results."""
    installed()
    warn_when_busy()
    RESULTS.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=RESULTS, ignore_cleanup_errors=True) as name:
        folder = Path(name)
        peers = {
            LANGGRAPH_CHAIN: Peer("langgraph.py", folder / "lc.db", "chain", STEPS),
            LANGGRAPH_FAN: Peer("langgraph.py", folder / "lf.db", "fan", WIDE),
            DBOS_CHAIN: Peer("dbos.py", folder / "dc.db", "chain", STEPS),
            DBOS_FAN: Peer("dbos.py", folder / "df.db", "fan", WIDE),
        }
        rounds = {
            COMMIT: floors.sqlalchemy_commit(folder),
            CHAIN: embedded(folder, chain_of(STEPS), STEPS),
            LANGGRAPH_CHAIN: peers[LANGGRAPH_CHAIN].once,
            DBOS_CHAIN: peers[DBOS_CHAIN].once,
            FAN: embedded(folder, fan_of(WIDE), WIDE + 2),
            LANGGRAPH_FAN: peers[LANGGRAPH_FAN].once,
            DBOS_FAN: peers[DBOS_FAN].once,
        }
        taken = interleaved(rounds, ROUNDS)
        for peer in peers.values():
            peer.close()
    lines = figures(taken, "ms", BARS)
    show(lines)
    print(f"written to {save(lines)}")


if __name__ == "__main__":
    main()
