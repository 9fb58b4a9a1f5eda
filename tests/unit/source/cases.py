"""The YAML test suite: its cases, with the marks that stand for invisible characters decoded."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

REPOSITORY = Path(__file__).parents[3]
CASES = Path(os.environ.get("DAGFLOW_CASES", REPOSITORY.parent / "shared" / "cases"))
SUITE = CASES / "yaml-test-suite" / "src"
MISSING = f"the case material is not here: set DAGFLOW_CASES (looked in {CASES})"
# The suite is somebody else's and is read in place, never copied here.
needs_cases = pytest.mark.skipif(not SUITE.is_dir(), reason=MISSING)


@dataclass(frozen=True)
class Case:
    """One case; `values` are the documents it should load as, or None when it tells none."""

    id: str
    text: str
    is_valid: bool
    is_skipped: bool
    values: list[object] | None


def suite() -> Iterator[Case]:
    """Yield all cases in the order of their names."""
    for path in sorted(SUITE.glob("*.yaml")):
        entries = yaml.load(path.read_text(encoding="utf-8"), yaml.CSafeLoader)
        inherited: dict[str, object] = {}
        for number, entry in enumerate(entries):
            inherited |= entry
            name = path.stem if len(entries) == 1 else f"{path.stem}/{number:02d}"
            # a case takes over what the one before it says, but for being invalid
            is_valid = not entry.get("fail")
            told = inherited.get("json") if is_valid else None
            yield Case(
                id=name,
                text=visible(str(inherited["yaml"])),
                is_valid=is_valid,
                is_skipped=bool(inherited.get("skip")),
                values=None if told is None else documents(str(told)),
            )


def visible(text: str) -> str:
    """Put the characters back that the suite writes as visible marks."""
    text = re.sub("—*»", "\t", text.replace("␣", " "))
    text = text.replace("←", "\r").replace("⇔", "\ufeff").replace("↵", "")
    return re.sub("∎\n$", "", text)


def documents(text: str) -> list[object]:
    """Read JSON values that follow each other."""
    found, rest, decoder = [], text.strip(), json.JSONDecoder()
    while rest:
        value, end = decoder.raw_decode(rest)
        found.append(value)
        rest = rest[end:].strip()
    return found
