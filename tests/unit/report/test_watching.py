"""`--watch` checks again when a file that was read changes, and survives what can't be read."""

from __future__ import annotations

from pathlib import Path

from dagflow.cli.reporting import Entry
from dagflow.cli.watching import watch_files
from dagflow.core.errors import UsageError
from dagflow.service.bundle import read_bundle
from dagflow.service.check import check
from dagflow.service.watching import Watch, files_of

FLOW = """\
dagflow: 1
name: w
tools: {helpdesk: {openapi: ./doc.yaml}}
steps: {child: {workflow: {file: ./child.yaml}}}
"""


def test_all_files_that_a_check_reads_are_watched(tmp_path: Path) -> None:
    (tmp_path / "w.yaml").write_text(FLOW)
    (tmp_path / "doc.yaml").write_text("openapi: 3.1.0\n")
    (tmp_path / "child.yaml").write_text("dagflow: 1\nname: c\nsteps: {a: {transform: 1}}\n")

    found = {Path(file).name for file in files_of(read_bundle(str(tmp_path / "w.yaml")))}

    assert found == {"w.yaml", "doc.yaml", "child.yaml"}


def test_change_of_a_file_is_seen_and_so_is_its_going() -> None:
    stamps: dict[str, tuple[int, int] | None] = {"a": (1, 1), "b": (1, 1)}
    watch = Watch(["a", "b"], stamps.get)
    assert watch.changed() == ()

    stamps["a"] = None

    assert watch.changed() == ("a",)


def test_change_during_a_check_is_not_lost() -> None:
    stamps: dict[str, tuple[int, int] | None] = {"a": (1, 1)}
    before = Watch(["a"], stamps.get)
    stamps["a"] = (2, 1)

    watch = Watch(["a", "b"], stamps.get, known=before)

    assert watch.changed() == ("a",)


def test_file_is_checked_again_after_each_change_until_interrupted(tmp_path: Path) -> None:
    file = tmp_path / "w.yaml"
    file.write_text("dagflow: 1\nname: w\nsteps: {a: {transform: 1}}\n")
    seen: list[str] = []

    def once() -> tuple[int, list[Entry]]:
        text = file.read_text()
        seen.append(text)
        if "broken" in text:
            raise UsageError("it can't be read")
        bundle = read_bundle(str(file))
        return 0, [(bundle, check(bundle))]

    def sleep(_seconds: float) -> None:
        if len(seen) == 3:
            raise KeyboardInterrupt
        file.write_text(file.read_text() + ("# broken\n" if len(seen) == 1 else "#\n"))

    assert watch_files(once, [str(file)], sleep) == 0
    assert len(seen) == 3
