"""Every command does what its help says, with data on stdout and the right exit code."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dagflow.cli import COMMANDS
from tests.acceptance.command import HELLO, Shell

FINAL_WORDS = {"succeeded", "failed", "cancelled", "timed_out"}


def test_help_lists_every_command_and_loads_no_heavy_library(shell: Shell) -> None:
    code = (
        "import sys; from dagflow.cli import run; run(['--help']);"
        "print([m for m in ('sqlalchemy', 'networkx', 'fastapi', 'torch', 'pydantic', 'yaml',"
        " 'httpcore2', 'rich', 'jsonschema') if m in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=shell.folder
    )

    assert all(f"  {name}" in done.stdout for name in COMMANDS)
    assert done.stderr.strip() == "[]"


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(shell: Shell, command: str) -> None:
    answer = shell(command, "--help")

    assert answer.code == 0
    assert "Usage: dagflow" in answer.out


def test_check_loads_no_library_that_a_check_does_not_need(shell: Shell) -> None:
    shell.write("hello.yaml", HELLO)
    code = (
        "import sys; from dagflow.cli import run; code = run(['check', 'hello.yaml']);"
        "print(code, [m for m in ('sqlalchemy', 'networkx', 'fastapi', 'torch', 'pydantic',"
        " 'httpcore2', 'jsonschema', 'alembic') if m in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=shell.folder
    )

    assert done.stderr.strip() == "0 []"


def test_a_good_file_is_checked_with_exit_code_0(shell: Shell) -> None:
    answer = shell("check", shell.write("hello.yaml", HELLO))

    assert answer.code == 0
    assert answer.out.startswith("ok hello: 2 steps, 1 edge")
    assert answer.err == ""


def test_a_finding_points_at_its_place(shell: Shell) -> None:
    wrong = HELLO.replace("inputs.name'", "inputs.nmae'")

    answer = shell("check", shell.write("hello.yaml", wrong))

    assert answer.code == 1
    assert "hello.yaml:8:35" in answer.out
    assert "did you mean 'name'?" in answer.out
    assert "^" in answer.out


def test_the_json_report_is_one_document_with_its_version(shell: Shell) -> None:
    answer = shell("check", shell.write("hello.yaml", HELLO), "--format", "json", "--timings")

    assert answer.json["schema_version"] == 1
    assert answer.json["ok"]
    assert answer.json["workflow"]["plan"].startswith("sha256:")
    assert answer.json["timings"]


def test_warnings_fail_only_when_asked(shell: Shell) -> None:
    unused = HELLO.replace("steps:\n", "  spare: {type: string, default: x}\nsteps:\n", 1)
    shell.write("hello.yaml", unused)

    assert shell("check", "hello.yaml").code == 0
    assert shell("check", "hello.yaml", "--fail-on", "warning").code == 1


def test_several_files_are_checked_and_one_bad_fails_all(shell: Shell) -> None:
    shell.write("a.yaml", HELLO)
    shell.write("b.yaml", "dagflow: 1\nname: b\n")

    answer = shell("check", "a.yaml", "b.yaml", "--format", "json")

    assert answer.code == 1
    assert [json.loads(line)["ok"] for line in answer.out.splitlines()] == [True, False]


def test_the_html_report_is_one_file_without_references(shell: Shell) -> None:
    shell.write("hello.yaml", HELLO)

    answer = shell("check", "hello.yaml", "--format", "html", "-o", "report.html")

    page = (shell.folder / "report.html").read_text()
    assert answer.code == 0
    assert answer.out == ""
    assert "<svg" in page
    assert "http" not in page.replace("http://www.w3.org/2000/svg", "").replace("http-equiv", "")
    assert "<script" not in page


def test_a_run_prints_its_outputs_alone_on_stdout(shell: Shell) -> None:
    answer = shell("run", shell.write("hello.yaml", HELLO), "--input", "name=you")

    assert answer.code == 0
    assert answer.json == {"text": "hello you", "loud": ""}
    assert "greet: succeeded" in answer.err


def test_inputs_come_from_a_file_and_words_win(shell: Shell) -> None:
    shell.write("hello.yaml", HELLO)
    shell.write("inputs.json", '{"name": "file", "times": 2}')

    answer = shell("run", "hello.yaml", "--inputs", "inputs.json", "-i", "name=word", "-q")

    assert answer.json == {"text": "hello word", "loud": "hello word!"}
    assert answer.err.count("\n") == 2  # the run's id and its end


def test_a_run_as_json_has_the_published_form(shell: Shell) -> None:
    shell.write("hello.yaml", HELLO)

    answer = shell("run", "hello.yaml", "-i", "name=you", "--format", "json")

    run = answer.json["run"]
    assert run["status"] == "succeeded"
    assert all(run[name] for name in ("id", "started_at", "finished_at"))
    assert answer.json["steps"]["greet"]["status"] == "succeeded"
    assert answer.json["steps"]["shout"] == {
        **answer.json["steps"]["shout"],
        "status": "skipped",
        "reason": "guard",
        "attempts": 0,
    }
    assert "output" not in answer.json["steps"]["shout"]


def test_a_run_as_json_lines_ends_with_the_run(shell: Shell) -> None:
    shell.write("hello.yaml", HELLO)

    answer = shell("run", "hello.yaml", "-i", "name=you", "--format", "jsonl")

    lines = [json.loads(line) for line in answer.out.splitlines()]
    assert lines[-1]["run"]["status"] == "succeeded"
    assert any("event" in line for line in lines[:-1])


def test_a_failed_run_exits_1_and_says_why(shell: Shell) -> None:
    flow = "dagflow: 1\nname: f\nsteps:\n  stop:\n    fail: no more\n"

    answer = shell("run", shell.write("f.yaml", flow))

    assert answer.code == 1
    assert answer.out == ""
    assert "user: " in answer.err
    assert "no more" in answer.err


def test_a_run_that_misses_its_deadline_exits_3(shell: Shell) -> None:
    flow = "dagflow: 1\nname: f\ndeadline: 300ms\nsteps:\n  nap:\n    wait: {signal: go}\n"

    answer = shell("run", shell.write("f.yaml", flow))

    assert answer.code == 3
    assert "timed_out" in answer.err


def test_exactly_the_saved_plan_is_run(shell: Shell) -> None:
    shell.write("hello.yaml", HELLO)
    planned = shell("plan", "hello.yaml", "-o", "plan.json")
    digest = json.loads((shell.folder / "plan.json").read_text())["digest"]
    (shell.folder / "hello.yaml").unlink()

    answer = shell("run", "plan.json", "-i", "name=you", "--format", "json")

    assert planned.code == 0
    assert answer.json["run"]["plan"] == digest
    assert answer.json["run"]["outputs"]["text"] == "hello you"


def test_a_plan_is_the_same_bytes_each_time(shell: Shell) -> None:
    shell.write("hello.yaml", HELLO)

    plans = {shell("plan", "hello.yaml", PYTHONHASHSEED=str(seed)).out for seed in range(3)}

    assert len(plans) == 1


def test_a_move_taken_out_of_a_plan_file_is_refused_by_the_engine(shell: Shell) -> None:
    shell.write("hello.yaml", HELLO)
    shell("plan", "hello.yaml", "-o", "plan.json")
    plan = json.loads((shell.folder / "plan.json").read_text())
    moves = plan["constraints"]
    without = [m for m in moves if (m["step"], m["to"]) != ("shout", "skipped(guard)")]
    assert len(without) == len(moves) - 1
    shell.write("less.json", json.dumps({**plan, "constraints": without}))

    loud = shell("run", "less.json", "-i", "name=you", "-i", "times=2")
    quiet = shell("run", "less.json", "-i", "name=you")

    assert loud.code == 0
    assert quiet.code == 70
    assert "'shout' from pending to skipped(guard)" in quiet.err


@pytest.mark.parametrize("format_", ["svg", "mermaid", "dot", "json"])
def test_graphs_are_drawn_in_every_format(shell: Shell, format_: str) -> None:
    shell.write("hello.yaml", HELLO)

    answer = shell("graph", "hello.yaml", "--format", format_)

    assert answer.code == 0
    assert "greet" in answer.out
    assert "shout" in answer.out


def test_the_states_of_a_step_are_drawn(shell: Shell) -> None:
    shell.write("hello.yaml", HELLO)

    answer = shell("graph", "hello.yaml", "--states", "shout")

    assert "skipped_guard" in answer.out or "skipped(guard)" in answer.out
    assert shell("graph", "hello.yaml", "--states", "shuot").code == 5


def test_runs_are_listed_shown_and_unknown_ones_not_found(shell: Shell) -> None:
    shell.write("hello.yaml", HELLO)
    shell("run", "hello.yaml", "-i", "name=you")

    listed = shell("runs", "ls", "--format", "json").json["runs"]
    shown = shell("runs", "show", listed[0]["id"], "--html", "run.html")

    assert [run["status"] for run in listed] == ["succeeded"]
    assert "greet" in shown.out
    assert "hello you" in (shell.folder / "run.html").read_text()
    assert shell("runs", "show", "run_nothing").code == 5
    over = shell("runs", "cancel", listed[0]["id"])
    assert over.code == 5
    assert over.err == f"error: run {listed[0]['id']} is succeeded already\n"


def test_where_there_is_nothing_to_list_that_is_said_beside_the_data(shell: Shell) -> None:
    runs, approvals = shell("runs", "ls"), shell("approve")

    assert (runs.code, runs.out, runs.err) == (0, "", "there are no runs yet\n")
    assert (approvals.code, approvals.out) == (0, "")
    assert approvals.err == "nothing waits for a person\n"


def test_a_signal_that_is_no_json_says_how_to_write_one(shell: Shell) -> None:
    answer = shell("runs", "signal", "run_x", "go", "yes")

    assert answer.code == 2
    assert "the payload 'yes' is not JSON" in answer.err
    assert """help: write a text as '"yes"'""" in answer.err


def waiting_approval(shell: Shell) -> str:
    end = time.monotonic() + 30
    while time.monotonic() < end:
        found = shell("approve", "--format", "json").json["approvals"]
        if found:
            return str(found[0]["id"])
    pytest.fail("nothing asks for a person")


def test_an_approval_given_by_another_process_lets_the_run_go_on(shell: Shell) -> None:
    flow = """\
dagflow: 1
name: ask
steps:
  ask:
    approve: {message: "Go on?", expires: 5m}
  done:
    after: ask
    transform: '"by " + steps.ask.output.by'
outputs: {said: "${{ steps.done.output }}"}
"""
    with shell.start("run", shell.write("ask.yaml", flow)) as run:
        approval = waiting_approval(shell)
        answer = shell("approve", approval, "--yes", "--by", "ann", "--comment", "fine")
        out, err = run.communicate(timeout=60)

    assert answer.code == 0
    assert "Go on?" in answer.err
    assert json.loads(out) == {"said": "by ann"}, err
    assert shell("approve", approval, "--yes").code == 5


def test_explain_shows_a_bad_and_a_good_example(shell: Shell) -> None:
    answer = shell("explain", "unknown-name")

    assert answer.code == 0
    assert "Bad:" in answer.out
    assert "Good:" in answer.out
    assert shell("explain", "DF999").code == 5
    assert shell("explain", "all").out.count("\n") >= 30


def test_the_starter_checks_and_runs(shell: Shell) -> None:
    assert shell("init", "new").code == 0

    checked = shell("check", "new/workflow.yaml", "--fail-on", "warning")
    answer = shell("run", "new/workflow.yaml", "-i", "text=the quick brown fox")

    tested = shell("test", "new", "--require-coverage")
    assert checked.code == 0, checked.out
    assert tested.code == 0, tested.out
    assert answer.json == {"verdict": "a short text, its longest word is quick"}
    assert shell("init", "new").code == 5


def test_the_published_schema_is_what_the_command_prints(shell: Shell) -> None:
    committed = Path(__file__).parents[2] / "schemas" / "workflow.v1.json"

    assert shell("schema").json == json.loads(committed.read_text())
    of_tests = committed.with_name("test.v1.json")
    assert shell("schema", "--tests").json == json.loads(of_tests.read_text())


FAILING = """\
dagflow_test: 1
workflow: ./hello.yaml
cases:
  - {name: greets, inputs: {name: Ann}, expect: {}}
  - {name: sulks, inputs: {name: Ann}, expect: {status: failed}}
"""


def test_test_says_which_case_fails_where_and_exits_with_1(shell: Shell) -> None:
    shell.write("hello.yaml", HELLO)
    shell.write("hello.test.yaml", FAILING)

    answer = shell("test", "hello.yaml")

    assert (answer.code, answer.err) == (1, "")
    assert "  ok      greets\n  FAILED  sulks\n" in answer.out
    assert "--> hello.test.yaml:5:" in answer.out
    assert answer.out.endswith("FAILED 1 case passed, 1 failed, in 1 file\n")


def test_test_runs_the_cases_that_are_selected_and_writes_files(shell: Shell) -> None:
    shell.write("hello.yaml", HELLO)
    shell.write("hello.test.yaml", FAILING)

    one = shell("test", "-k", "GREETS")
    none = shell("test", "-k", "weeps")
    both = shell("test", "-k", "sulks", "--require-coverage")
    junit = shell("test", "--format", "junit", "-o", "results.xml")

    assert (one.code, one.out.splitlines()[-1]) == (0, "ok 1 case passed, in 1 file")
    assert (none.code, both.code) == (2, 2)
    assert "no case has 'weeps'" in none.err
    assert (junit.code, junit.out, junit.err) == (1, "", "results: results.xml\n")
    assert '<testcase name="greets"' in (shell.folder / "results.xml").read_text()
    assert shell("test", "--format", "json").json["passed"] is False


def test_check_tells_a_test_file_from_a_workflow(shell: Shell) -> None:
    answer = shell("check", shell.write("hello.test.yaml", FAILING))

    assert answer.code == 1
    assert "this is a test file, and no workflow" in answer.out


def test_test_without_a_test_says_so(shell: Shell) -> None:
    answer = shell("test", shell.write("hello.yaml", HELLO))

    assert answer.code == 2
    assert "hello.yaml has no tests: there is no hello.test.yaml beside it" in answer.err


def test_doctor_tries_everything(shell: Shell) -> None:
    found = {it["name"]: it for it in shell("doctor", "--format", "json").json["findings"]}

    assert {"python", "sqlite", "database", "disk", "sandbox", "model"} <= found.keys()


def test_a_plan_with_the_deepest_expression_is_saved_read_and_recovered(shell: Shell) -> None:
    total = "+".join(["inputs.n"] * 30)
    choice = "(inputs.n > 0 ? " * 14 + "1" + " : 2)" * 14
    flow = (
        "dagflow: 1\nname: deep\ninputs: {n: integer}\nsteps:\n"
        f"  a: {{transform: '{total}'}}\n  b: {{transform: '{choice}'}}\n"
        "outputs: {a: '${{ steps.a.output }}', b: '${{ steps.b.output }}'}\n"
    )
    shell("plan", shell.write("deep.yaml", flow), "-o", "deep.json")

    answer = shell("run", "deep.json", "-i", "n=2", "--format", "json")

    assert answer.json["run"]["outputs"] == {"a": 60, "b": 1}
    assert shell("runs", "show", answer.json["run"]["id"]).code == 0


def test_modules_beside_a_called_workflow_are_found_also_after_a_kill(shell: Shell) -> None:
    shell.write("parts/helper.py", "def main(n):\n    return n + 1\n")
    shell.write(
        "parts/child.yaml",
        "dagflow: 1\nname: child\ninputs: {n: integer}\nsteps:\n"
        "  add: {python: 'helper:main', with: {n: '${{ inputs.n }}'}, output: integer}\n"
        "outputs: {n: '${{ steps.add.output }}'}\n",
    )
    shell.write(
        "top.yaml",
        "dagflow: 1\nname: top\nsteps:\n"
        "  call: {workflow: {file: ./parts/child.yaml}, with: {n: 41}}\n"
        "outputs: {n: '${{ steps.call.output.n }}'}\n",
    )
    whole = shell("run", "top.yaml", "-q", "--unsafe-no-sandbox")

    killed = shell("run", "top.yaml", "-q", "--unsafe-no-sandbox", DAGFLOW_FAULT="before-work")
    recovered = shell("runs", "recover", "--unsafe-no-sandbox", "--format", "json")

    assert whole.json == {"n": 42}
    assert killed.code < 0
    assert recovered.json["run"]["outputs"] == {"n": 42}
