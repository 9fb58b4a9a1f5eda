"""Reports, word for word. `make accept` writes them anew; read the diff before committing it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from dagflow.compiler.report import json_report, text
from dagflow.service.bundle import Bundle, read_bundle
from dagflow.service.check import Checked, check
from dagflow.service.drawings import draw_graph, draw_states
from dagflow.service.pages import report_page

HERE = Path(__file__).parent / "reports"
CASES = ("mistakes", "pruned")
SEEDS = ("0", "1", "7", "42")


def as_json(checked: Checked, _: Bundle) -> str:
    return json.dumps(json_report.to_json(checked.report), indent=2, ensure_ascii=False) + "\n"


FORMATS: dict[str, Callable[[Checked, Bundle], str]] = {
    "txt": lambda checked, _: text.render(checked.report, checked.sources),
    "json": as_json,
    "html": report_page,
}


def rendered(case: str, suffix: str) -> str:
    bundle = read_bundle(f"{case}.yaml")
    return FORMATS[suffix](check(bundle), bundle)


def compare(path: Path, found: str) -> None:
    if os.environ.get("DAGFLOW_ACCEPT") == "1":
        path.write_text(found, encoding="utf-8")
    assert found == path.read_text("utf-8"), f"{path.name} differs; `make accept` writes it anew"


@pytest.fixture(autouse=True)
def in_the_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(HERE)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("suffix", FORMATS)
def test_report(case: str, suffix: str) -> None:
    compare(HERE / f"{case}.{suffix}", rendered(case, suffix))


@pytest.mark.parametrize(
    ("format_", "suffix"), [("svg", "svg"), ("mermaid", "mmd"), ("dot", "dot")]
)
def test_drawing(format_: str, suffix: str) -> None:
    plan = check(read_bundle("pruned.yaml")).plan
    assert plan is not None

    compare(HERE / f"pruned.{suffix}", draw_graph(plan, format_))


def test_states() -> None:
    plan = check(read_bundle("pruned.yaml")).plan
    assert plan is not None

    compare(HERE / "pruned.third.states.txt", draw_states(plan, "third", "text"))


@pytest.mark.parametrize("seed", SEEDS)
def test_reports_are_the_same_bytes_under_every_hash_seed(seed: str) -> None:
    code = (
        "from tests.golden.test_reports import *\n"
        "import sys\n"
        "for case in CASES:\n"
        "    for suffix in FORMATS:\n"
        "        sys.stdout.write(rendered(case, suffix))\n"
    )
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=HERE, capture_output=True, text=True, check=True,
        env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(root)},
    )  # fmt: skip

    assert done.stdout == "".join(
        (HERE / f"{case}.{suffix}").read_text("utf-8") for case in CASES for suffix in FORMATS
    )
