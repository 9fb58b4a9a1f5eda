"""Recorded runs as what deadlines are compared with, from the command line."""

from __future__ import annotations

from tests.acceptance.command import Shell

WORK = """\
dagflow: 1
name: work
inputs: {n: integer}
deadline: 1m
steps:
  twice: {transform: inputs.n * 2}
  rest: {wait: {for: 20ms}, after: twice}
outputs:
  twice: ${{ steps.twice.output }}
"""
SITE = """\
dagflow_site: 1
workers: {only: {queues: [other]}}
history: recorded.jsonl
"""


def test_runs_of_this_folder_are_what_a_check_compares_deadlines_with(shell: Shell) -> None:
    shell.write("work.yaml", WORK)
    for n in ("1", "2"):
        assert shell("run", "work.yaml", "-i", f"n={n}").code == 0

    written = shell("history", "-o", "recorded.jsonl")
    here = shell("check", "--recorded", "--format", "json", "work.yaml")

    assert written.code == 0
    assert '"work.twice":' in (shell.folder / "recorded.jsonl").read_text()
    assert here.json["bounds"]["deadlines"][0]["verdict"] == "proven"

    shell.write("work.yaml", WORK.replace("deadline: 1m", "deadline: 30ms"))
    shell.write("site.yaml", SITE)
    there = shell("check", "--site", "site.yaml", "--format", "json", "work.yaml")

    assert there.code == 1
    assert [it["code"] for it in there.json["findings"]] == ["DF705"]
    told = shell("check", "work.yaml", DAGFLOW_SITE="site.yaml")
    assert "can run nowhere" in told.out


def test_a_site_file_with_a_mistake_is_refused(shell: Shell) -> None:
    shell.write("work.yaml", WORK)
    shell.write("site.yaml", "dagflow_site: 1\nworkerz: {}\n")

    answer = shell("check", "--site", "site.yaml", "work.yaml")

    assert answer.code == 2
    assert (
        "site.yaml:2:1: the site file has no key `workerz`; did you mean `workers`?" in answer.err
    )
