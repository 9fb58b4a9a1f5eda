"""The inference worker as a process: started when needed, shared, and never left behind."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from dagflow.core.errors import StepError, UnavailableError, UsageError
from dagflow.llm.http import PooledStream
from dagflow.llm.local import LocalModel
from dagflow.llm.protocol import ChatRequest, Message
from dagflow.llm.router import Router
from tests.contract.llm_model import cache_of_session, installed_file, loaded
from tests.unit.llm.fakes import gathered, text_of, until

ASKED = ChatRequest(
    messages=(Message("user", "What is the capital of France?"),), max_tokens=12, timeout=60
)
WARM_START = 30.0
"""Seconds; about 3 on two idle cores, and the tests' machine may be busy."""


@pytest.fixture(scope="module")
def environ() -> dict[str, str]:
    installed_file()
    loaded("auto")
    return {**os.environ, "DAGFLOW_CACHE": str(cache_of_session())}


@pytest.fixture
def children() -> Iterator[list[psutil.Process]]:
    """Give a list of processes that must be gone when the test is over."""
    seen: list[psutil.Process] = []
    yield seen
    _, alive = psutil.wait_procs(seen, timeout=10)
    for process in alive:
        process.kill()
    assert not alive


def workers() -> list[psutil.Process]:
    return [child for child in psutil.Process().children(recursive=True) if _is_worker(child)]


def _is_worker(child: psutil.Process) -> bool:
    try:
        return "dagflow.llm" in child.cmdline()
    except psutil.Error:
        return False


def test_steps_share_one_process_which_restarts_when_it_dies_and_ends_with_the_run(
    environ: dict[str, str], children: list[psutil.Process]
) -> None:
    async def scene() -> None:
        local = LocalModel(environ=environ)
        http = PooledStream()
        router = Router(http, local)
        try:
            began = time.monotonic()
            async with router.client("default", {"route": "local"}, None) as client:
                assert time.monotonic() - began < WARM_START
                assert "Paris" in text_of(await gathered(client.stream(ASKED)))
            one, two = await asyncio.gather(local.address(), local.address())
            assert one == two
            (worker,) = workers()
            children.append(worker)
            assert set(worker.environ()) <= {*_kept(), "DAGFLOW_LLM_KEY", "LC_CTYPE"}

            worker.kill()
            await until(lambda: not local._runs())
            again = await local.address()
            assert again.url != one.url
            children.extend(workers())
            await _refused_without_the_key(http, again.url)
        finally:
            await local.stop()
            await http.close()
        assert workers() == []

    asyncio.run(scene())


def _kept() -> frozenset[str]:
    from dagflow.llm.local import _KEPT

    return _KEPT


async def _refused_without_the_key(http: PooledStream, url: str) -> None:
    async with Router(http).client("m", {"url": url}, "wrong") as client:
        with pytest.raises(StepError, match="asks for its API key") as caught:
            await gathered(client.stream(ASKED))
    assert caught.value.error_class == "http_4xx"


PARENT = """
import asyncio, sys
from dagflow.llm.local import LocalModel
async def main():
    local = LocalModel()
    await local.address()
    print(local._process.pid, flush=True)
    await asyncio.sleep(600)
asyncio.run(main())
"""


def test_a_parent_that_is_killed_takes_the_worker_with_it(
    environ: dict[str, str], children: list[psutil.Process]
) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", PARENT], stdout=subprocess.PIPE, env=environ
    ) as parent:
        worker = psutil.Process(int(parent.stdout.readline()))
        children.append(worker)
        assert worker.is_running()

        parent.send_signal(signal.SIGKILL)


def test_a_model_that_does_not_come_up_in_time_is_said_and_leaves_nothing(
    environ: dict[str, str],
) -> None:
    async def scene() -> None:
        local = LocalModel(environ=environ, start_seconds=0.05)
        with pytest.raises(UnavailableError, match=r"not ready within 0\.05 s"):
            await local.address()

    asyncio.run(scene())

    assert workers() == []


def test_what_the_process_says_before_it_ends_reaches_the_caller(
    environ: dict[str, str], tmp_path: Path
) -> None:
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"GGUF, or not")

    async def scene() -> None:
        with pytest.raises(UsageError, match="not a GGUF file"):
            await LocalModel(str(broken), environ=environ).address()

    asyncio.run(scene())


def test_a_port_in_use_and_a_missing_model_end_with_code_2_and_a_remedy(
    environ: dict[str, str],
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        in_use = _worker(environ, "--port", str(port))
    missing = _worker(environ, "--model", "no-such-model")
    exposed = _worker(environ, "--host", "0.0.0.0")

    assert [found.returncode for found in (in_use, missing, exposed)] == [2, 2, 2]
    assert f"port {port} on 127.0.0.1 is in use" in in_use.stderr
    assert "help: name another with --port" in in_use.stderr
    assert "smollm2-135m-instruct" in missing.stderr
    assert "without an API key" in exposed.stderr
    assert not any("Traceback" in found.stderr for found in (in_use, missing, exposed))


def _worker(environ: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "dagflow.llm", *arguments]
    return subprocess.run(
        command, env=environ, capture_output=True, text=True, timeout=60, check=False
    )


def test_a_worker_of_its_own_says_once_that_it_is_ready_and_ends_on_sigterm(
    environ: dict[str, str],
) -> None:
    command = [sys.executable, "-m", "dagflow.llm", "--port", "0", "--embedded"]
    with subprocess.Popen(
        command, env=environ, text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as worker:  # fmt: skip
        told = json.loads(worker.stdout.readline())
        worker.send_signal(signal.SIGTERM)
        rest, errors = worker.communicate(timeout=30)

    assert told["url"].startswith("http://127.0.0.1:")
    assert rest == ""
    assert errors.count("is ready on") == 1
    assert "Traceback" not in errors
