"""`dagflow check` as people and CI call it: formats, fixes, baselines; and `dagflow diff`."""

from __future__ import annotations

import jsonschema_rs

from dagflow.api.schemas import published
from tests.acceptance.command import Shell

FLOW = """\
dagflow: 1
name: w
inputs: {n: integer}
steps:
  first-one: {transform: inputs.n}
  two: {transform: steps.first-one.output + 1}
outputs: {n: "${{ steps.two.output }}"}
"""
SOUND = FLOW.replace("first-one", "one")


def test_fix_mends_what_a_machine_can_be_sure_of(shell: Shell) -> None:
    file = shell.folder / "w.yaml"
    file.write_bytes(b"\xef\xbb\xbf" + FLOW.replace("\n", "\r\n").encode())

    shown = shell("check", "w.yaml", "--fix", "--diff")
    unchanged = file.read_bytes()
    done = shell("check", "w.yaml", "--fix")

    assert shown.code == 1
    assert "+  two: {transform: steps.`first-one`.output + 1}" in shown.out
    assert b"`" not in unchanged
    assert done.code == 0, done.out
    text = file.read_bytes()
    assert text.startswith(b"\xef\xbb\xbf")
    assert b"steps.`first-one`.output + 1}\r\n" in text


def test_baseline_lets_only_new_findings_through(shell: Shell) -> None:
    text = SOUND.replace("steps.one.output + 1", "inputs.n / inputs.n")
    shell.write("w.yaml", text)

    written = shell("check", "w.yaml", "--write-baseline", "known.json")
    quiet = shell("check", "w.yaml", "--baseline", "known.json", "--fail-on", "warning")
    shell.write("w.yaml", "# moved\n" + text.replace("{n: integer}", "{m: string, n: integer}"))
    news = shell(
        *("check", "w.yaml", "--baseline", "known.json", "--fail-on", "warning"),
        *("--format", "json"),
    )

    assert written.code == 0
    assert quiet.code == 0, quiet.out
    assert news.code == 1
    assert [finding["name"] for finding in news.json["findings"]] == ["unused"]


def test_several_files_make_one_sarif_log(shell: Shell) -> None:
    names = [shell.write(f"{name}.yaml", FLOW) for name in "ab"]

    done = shell("check", "--format", "sarif", *names)

    (run,) = done.json["runs"]
    places = [result["locations"][0]["physicalLocation"] for result in run["results"]]
    assert done.code == 1
    assert {place["artifactLocation"]["uri"] for place in places} == set(names)


def test_diff_ends_with_1_where_callers_break(shell: Shell) -> None:
    old = shell.write("old.yaml", SOUND)
    grown = SOUND.replace("{n: integer}", "{n: integer, m: string}")
    new = shell.write("new.yaml", grown.replace("inputs.n}", "inputs.n + size(inputs.m)}"))

    breaking = shell("diff", old, new, "--format", "json")
    same = shell("diff", old, old)

    assert breaking.code == 1
    assert breaking.json["breaking"]
    jsonschema_rs.validator_for(published("diff.v1.json")).validate(breaking.json)
    assert (same.code, same.out) == (0, "nothing changes\n")


def test_version_is_checked_against_the_one_before_in_a_file_or_a_folder(shell: Shell) -> None:
    shell.write("old/w.yaml", SOUND)
    shell.write("w.yaml", SOUND.replace("{n: integer}", "{n: integer, m: string}"))
    shell.write("new.yaml", SOUND)

    for old in ("old", "old/w.yaml"):
        done = shell("check", "w.yaml", "--against", old)
        assert done.code == 1
        assert "DF607" in done.out
        assert "input 'm' is new, and must be given" in done.out
    assert shell("check", "new.yaml", "--against", "old").code == 0
    assert shell("check", "new.yaml", "--against", "nowhere.yaml").code == 2
