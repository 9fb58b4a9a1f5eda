"""DBOS on SQLite: rounds on demand, one line in, one line out.

Runs in the peers' environment: nothing of dagflow is imported here.
"""

from __future__ import annotations

import asyncio
import sys
import time

sys.path.pop(0)  # this folder: it would hide the package of the same name

from dbos import DBOS


@DBOS.step()
def step(n: int) -> dict[str, int]:
    """Do nothing."""
    return {"n": n}


@DBOS.step()
async def wide_step(n: int) -> dict[str, int]:
    """Do nothing."""
    return {"n": n}


@DBOS.workflow()
def chain(steps: int) -> dict[str, int]:
    """Do steps one after another."""
    last = {"n": 0}
    for number in range(steps):
        last = step(number)
    return last


@DBOS.workflow()
async def fan(width: int) -> dict[str, int]:
    """Do one step, `width` steps after it, and one after them all."""
    await wide_step(0)
    found = await asyncio.gather(*[wide_step(number) for number in range(width)])
    return await wide_step(len(found))


def main(file: str, shape: str, size: int) -> None:
    """Do one run for each line read, and print the milliseconds a step."""
    DBOS(
        config={
            "name": "peers",
            "system_database_url": f"sqlite:///{file}",
            "run_admin_server": False,
            "log_level": "ERROR",
            "enable_otlp": False,
        }
    )
    DBOS.launch()
    steps = size if shape == "chain" else size + 2
    print("ready", flush=True)
    for _line in sys.stdin:
        begun = time.perf_counter()
        if shape == "chain":
            chain(size)
        else:
            asyncio.run(fan(size))
        print((time.perf_counter() - begun) * 1000 / steps, flush=True)
    DBOS.destroy()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
