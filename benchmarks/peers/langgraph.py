"""LangGraph with its SqliteSaver: rounds on demand, one line in, one line out.

Runs in the peers' environment: nothing of dagflow is imported here.
"""

from __future__ import annotations

import operator
import sqlite3
import sys
import time
from typing import Annotated, Any, TypedDict

sys.path.pop(0)  # this folder: it would hide the package of the same name

from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph


class One(TypedDict):
    """What a chain carries."""

    n: int


class Many(TypedDict):
    """What a fan gathers."""

    n: int
    out: Annotated[list[Any], operator.add]


def chain_of(steps: int) -> StateGraph:
    """Return a graph of nodes one after another."""
    graph = StateGraph(One)
    for number in range(steps):
        graph.add_node(f"s{number}", lambda _state, n=number: {"n": n})
    graph.add_edge(START, "s0")
    for number in range(steps - 1):
        graph.add_edge(f"s{number}", f"s{number + 1}")
    graph.add_edge(f"s{steps - 1}", END)
    return graph


def fan_of(width: int) -> StateGraph:
    """Return a graph of one node, `width` nodes after it, and one after them all."""
    graph = StateGraph(Many)
    names = [f"s{number}" for number in range(width)]
    graph.add_node("a", lambda _state: {"n": 0})
    graph.add_node("j", lambda state: {"n": len(state["out"])})
    for number, name in enumerate(names):
        graph.add_node(name, lambda _state, n=number: {"out": [{"n": n}]})
        graph.add_edge("a", name)
    graph.add_edge(START, "a")
    graph.add_edge(names, "j")
    graph.add_edge("j", END)
    return graph


def main(file: str, shape: str, size: int) -> None:
    """Do one run for each line read, and print the milliseconds a step."""
    connection = sqlite3.connect(file, check_same_thread=False)
    saver = SqliteSaver(connection)
    saver.setup()
    connection.execute("PRAGMA synchronous=FULL")
    mode = connection.execute("PRAGMA journal_mode").fetchone()[0]
    synchronous = connection.execute("PRAGMA synchronous").fetchone()[0]
    if (mode, synchronous) != ("wal", 2):
        raise SystemExit(f"the saver's database is {mode}, synchronous {synchronous}")
    graph = (chain_of if shape == "chain" else fan_of)(size).compile(checkpointer=saver)
    start: dict[str, Any] = {"n": 0} if shape == "chain" else {"n": 0, "out": []}
    steps = size if shape == "chain" else size + 2
    print("ready", flush=True)
    for number, _line in enumerate(sys.stdin):
        config = {"configurable": {"thread_id": str(number)}, "recursion_limit": 100_000}
        begun = time.perf_counter()
        graph.invoke(start, config, durability="sync")
        print((time.perf_counter() - begun) * 1000 / steps, flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
