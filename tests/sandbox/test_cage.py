"""The walls of the cage hold, and nothing is left behind."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from dagflow.core.plan import Limits
from dagflow.executor.sandbox.cage import Action, Cage, Outcome
from dagflow.executor.sandbox.preflight import inspect
from dagflow.executor.sandbox.process import ProcessCage, python_program
from dagflow.executor.sandbox.unsafe import UnsafeCage

MIB = 2**20
Run = Callable[..., Outcome]


@pytest.fixture(scope="module")
def cage() -> ProcessCage:
    verdict = asyncio.run(inspect())
    if verdict.cage is None:
        message = f"no sandbox on this host: {verdict.reason}"
        if os.environ.get("CI") == "true":
            pytest.fail(message)
        pytest.skip(message)
    return verdict.cage


@pytest.fixture
def run(cage: ProcessCage) -> Run:
    return lambda code, **options: run_in(cage, code, **options)


def run_in(cage: Cage, code: str, **options: object) -> Outcome:
    argv = (python_program(), "-I", "-S", "-c", textwrap.dedent(code))
    return asyncio.run(cage.run(Action(argv=argv, **options)))  # type: ignore[arg-type]


def test_output_and_result_come_back_apart(run: Run) -> None:
    outcome = run("import os; print('out'); os.write(2, b'err'); os.write(3, b'result')")

    assert outcome.kind == "ok"
    assert (outcome.stdout, outcome.stderr, outcome.result) == (b"out\n", b"err", b"result")
    assert outcome.peak_memory
    assert outcome.cpu_seconds


def test_memory_is_a_wall(run: Run) -> None:
    outcome = run("x = bytearray(10**9)", limits=Limits(memory=64 * MIB))

    assert outcome.kind == "oom"
    assert "64 MiB" in outcome.message


def test_memory_of_a_grandchild_counts_though_the_exit_code_hides_it(run: Run) -> None:
    code = """
        import os, sys
        if os.fork() == 0:
            bytearray(10**9)
        os.wait()
        sys.exit(40)
    """
    assert run(code, limits=Limits(memory=64 * MIB)).kind == "oom"


def test_a_filled_workspace_is_an_error_of_the_action_not_of_the_host(run: Run) -> None:
    outcome = run("open('big', 'wb').write(b'0' * 10**8)", limits=Limits(workspace=8 * MIB))

    assert outcome.kind == "error"


def test_wall_time_is_a_wall_for_what_ignores_every_signal(run: Run) -> None:
    code = """
        import signal, time
        for number in range(1, 32):
            if number not in (9, 19):
                signal.signal(number, signal.SIG_IGN)
        time.sleep(60)
    """
    assert run(code, timeout=0.7).kind == "timeout"


def test_a_fork_bomb_ends(run: Run) -> None:
    code = "import os\nwhile True:\n  try: os.fork()\n  except OSError: pass"

    assert run(code, limits=Limits(pids=16, cpu=0.5), timeout=1).kind == "timeout"


def test_refused_forks_name_the_wall(run: Run) -> None:
    code = "import os\nfor i in range(99):\n  if os.fork() == 0:\n    import time; time.sleep(9)"

    assert run(code, limits=Limits(pids=8)).kind == "pids"


@pytest.mark.parametrize("descriptor", [1, 2, 3])
def test_endless_output_is_cut_and_the_action_ended(run: Run, descriptor: int) -> None:
    outcome = run(f"import os\nwhile True: os.write({descriptor}, b'x' * 65536)")

    assert outcome.kind == "output_limit"


def test_processor_share_is_a_wall(run: Run) -> None:
    code = "import time\nend = time.time() + 1\nwhile time.time() < end: pass"

    outcome = run(code, limits=Limits(cpu=0.2))

    assert outcome.cpu_seconds is not None
    assert outcome.cpu_seconds < 0.5
    assert outcome.throttled_seconds


def test_exit_137_is_not_read_as_out_of_memory(run: Run) -> None:
    assert run("import os; os._exit(137)").kind == "error"


def test_what_a_dead_action_left_running_is_gone(cage: ProcessCage) -> None:
    mark = f"left-{os.getpid()}"
    code = f"""
        import os, time
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                os.execvp("sleep", ["{mark}", "60"])
            os._exit(0)
        time.sleep(0.2)
    """
    outcome = run_in(cage, code)

    assert outcome.kind == "ok"
    assert not [pid for pid in running() if mark in command(pid)]


def test_no_group_is_left(cage: ProcessCage) -> None:
    run_in(cage, "pass")

    groups = vars_of(cage.groups)
    assert not [path for parent in groups for path in parent.glob(f"action-{os.getpid()}-*")]


def vars_of(groups: object) -> list[Path]:
    parents = getattr(groups, "parents", None)
    return list(parents.values()) if parents else [groups.parent]  # type: ignore[attr-defined]


def running() -> list[str]:
    return [path.name for path in Path("/proc").iterdir() if path.name.isdigit()]


def command(pid: str) -> str:
    try:
        return Path("/proc", pid, "cmdline").read_text()
    except OSError:
        return ""


KILL_INIT = "import os; os.kill(1, 9); raise OSError('survived')"
TRACE = """
import ctypes, os
ctypes.CDLL(None, use_errno=True).ptrace(0, 0, 0, 0)
raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
"""


@pytest.mark.parametrize(
    ("attempt", "reason"),
    [
        ("open('/usr/x', 'w')", "read-only"),
        ("import os; os.listdir('/var')", "No such file"),
        ("import os; os.listdir('/sys')", "No such file"),
        ("import os; os.chroot('.')", "not permitted"),
        ("import os; os.mknod('device', 0o60600)",
         "not permitted"),
        ("import os; os.setuid(0)", "not permitted|Invalid argument"),
        ("import socket; socket.socket(40, 1)", "not permitted"),
        ("import socket; socket.socket(socket.AF_PACKET, 3)", "not permitted"),
        ("import socket; socket.create_connection(('127.0.0.1', 1), 1)", "unreachable|refused"),
        ("import socket; socket.create_connection(('169.254.169.254', 80), 1)", "unreachable"),
        (KILL_INIT, "survived"),
        ("open('/proc/1/environ').read()", "denied|No such file"),
        ("open('/proc/sys/kernel/core_pattern', 'w')", "denied|read-only"),
        ("import resource; resource.setrlimit(resource.RLIMIT_CORE, (9, 9))", "not allowed|exceed"),
        (TRACE, "not permitted"),
    ],
)  # fmt: skip
def test_the_host_is_out_of_reach(run: Run, attempt: str, reason: str) -> None:
    outcome = run(attempt)

    assert outcome.kind == "error"
    last = outcome.stderr.decode().strip().splitlines()[-1]
    assert any(part.lower() in last.lower() for part in reason.split("|")), last


def test_no_descriptor_or_variable_of_the_worker_is_inherited(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CANARY", "secret")

    outcome = run("import os; print(sorted(os.environ), len(os.listdir('/proc/self/fd')))")

    assert b"CANARY" not in outcome.stdout
    assert outcome.stdout.rstrip().endswith(b"5")  # 0, 1, 2, the result, and the listing itself


def test_a_sandbox_that_cannot_be_set_up_is_never_an_unsandboxed_run(cage: ProcessCage) -> None:
    broken = ProcessCage(cage.groups, "/nowhere")

    outcome = run_in(broken, "print('ran')")

    assert outcome.kind == "sandbox"
    assert outcome.stdout == b""


def test_network_is_refused_with_what_to_do(run: Run) -> None:
    outcome = run("pass", network=True)

    assert outcome.kind == "sandbox"
    assert "tool step" in outcome.message


def test_cancelling_the_caller_kills_the_action(cage: ProcessCage) -> None:
    mark = f"cancelled-{os.getpid()}"
    action = Action(argv=("/bin/sh", "-c", f"exec -a {mark} sleep 60 || sleep 60"))

    async def start_and_cancel() -> None:
        running_action = asyncio.create_task(cage.run(action))
        await asyncio.sleep(0.3)
        running_action.cancel()
        await asyncio.gather(running_action, return_exceptions=True)

    asyncio.run(start_and_cancel())

    assert not [pid for pid in running() if mark in command(pid)]


def test_killing_the_worker_kills_the_action(tmp_path: Path) -> None:
    mark = f"orphan-{os.getpid()}"
    script = tmp_path / "worker.py"
    script.write_text(
        textwrap.dedent(f"""
        import asyncio
        from dagflow.executor.sandbox.cage import Action
        from dagflow.executor.sandbox.preflight import inspect

        async def main():
            verdict = await inspect()
            print("ready", flush=True)
            argv = ("/usr/bin/env", "-S", "sh -c 'sleep 60; : {mark}'")
            await verdict.cage.run(Action(argv=argv))
        asyncio.run(main())
        """)
    )
    worker = subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE)
    assert worker.stdout is not None
    worker.stdout.readline()
    wait_until(lambda: any(mark in command(pid) for pid in running()))

    worker.kill()
    worker.wait()
    worker.stdout.close()

    wait_until(lambda: not any(mark in command(pid) for pid in running()))


def wait_until(true: Callable[[], bool], seconds: float = 10) -> None:
    import time

    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.02)


def test_without_a_sandbox_time_and_output_are_still_bounded() -> None:
    cage = UnsafeCage()

    assert run_in(cage, "import os; os.write(3, b'r'); print('o')").result == b"r"
    assert run_in(cage, "import time; time.sleep(9)", timeout=0.3).kind == "timeout"
    assert run_in(cage, "print('x' * 2**21)").kind == "output_limit"
