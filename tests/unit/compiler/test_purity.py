"""Compiling executes, opens and calls nothing, and reports have the same bytes always."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
SEEDS = range(8) if os.environ.get("DAGFLOW_FULL") else (0, 1, 4_242)

READ = """
import sys
from pathlib import Path
from dagflow.compiler import compile_workflow
from dagflow.core.source import Source
from dagflow.service.bundle import read_bundle
from dagflow.service.check import check, tool_catalog

folders = [Path("tests/golden/faulty"), Path("tests/golden/reports"), Path("workflows")]
files = sorted(f for folder in folders for f in folder.glob("*.yaml") if f.name.count(".") == 1)
bundles = [read_bundle(str(file)) for file in files]
ready = [(b, tool_catalog(b), {n: check(c).plan for n, c in b.children.items()}) for b in bundles]
ready = [(b, c, {n: plan for n, plan in p.items() if plan}) for b, c, p in ready if not b.findings]
assert len(ready) > 100, len(ready)
"""

PURE = (
    READ
    + """
GUARDED = False
REFUSED = ("open", "exec", "subprocess.Popen", "socket.", "os.", "shutil.", "import",
           "ctypes.dlopen", "marshal.loads", "urllib.Request")
seen = []

def hook(event, arguments):
    if GUARDED and event.startswith(REFUSED):
        seen.append((event, str(arguments)[:200]))

def compile_all():
    for bundle, catalog, children in ready:
        compile_workflow(bundle.source, catalog, children=children)

compile_all()  # what is imported on first use is imported now
sys.addaudithook(hook)
GUARDED = True
compile_all()
GUARDED = False
assert seen == [], seen[:5]
GUARDED = True
open("/dev/null").close()
GUARDED = False
assert len(seen) == 1, "the hook does not bite"
print(len(ready))
"""
)

RENDERED = (
    READ
    + """
import hashlib
from dagflow.cli.reporting import FORMATS, Asked
digest = hashlib.sha256()
for bundle, _, _ in ready:
    checked = check(bundle)
    for form in FORMATS:
        digest.update(FORMATS[form]([(bundle, checked)], Asked()).encode())
print(digest.hexdigest())
"""
)


def output(code: str, seed: int = 0) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT, capture_output=True, text=True, timeout=300, check=False,
        env={**os.environ, "PYTHONHASHSEED": str(seed), "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout.strip()


def test_compiling_the_golden_files_touches_nothing_outside() -> None:
    assert int(output(PURE)) > 100


def test_reports_are_the_same_bytes_under_every_hash_seed() -> None:
    assert len({output(RENDERED, seed) for seed in SEEDS}) == 1


@pytest.mark.parametrize("seed", SEEDS[1:2])
def test_guards_are_decided_alike_under_every_hash_seed(seed: int) -> None:
    code = """
from tests.property.test_solver import judged
print([judged(seed) for seed in range(12)])
"""
    assert output(code) == output(code, seed)
