"""Run paths: `loop[3].grade` is the step `grade` in the frame `loop[3]` of the step `loop`."""

from __future__ import annotations

import re

_INDEX = re.compile(r"\[\d+\]")

COMPENSATE = "compensate"


def pattern_of(path: str) -> str:
    """Return a run path without its indices: `loop[].grade`."""
    return _INDEX.sub("[]", path) if "[" in path else path


def frame_of(path: str) -> str:
    """Return the frame that a step stands in; "" for the top."""
    return path.rpartition(".")[0]


def name_of(path: str) -> str:
    """Return the last name of a path, static or of a run."""
    return path.rpartition(".")[2]


def within(frame: str, name: str) -> str:
    """Return the run path of a step of a frame."""
    return f"{frame}.{name}" if frame else name


def frame_at(owner: str, index: int) -> str:
    """Return the frame of one item or turn of a composite."""
    return f"{owner}[{index}]"


def split_frame(frame: str) -> tuple[str, int]:
    """Return the composite of a frame and the item or turn: `loop[3]` → (`loop`, 3)."""
    owner, _, index = frame[:-1].rpartition("[")
    return owner, int(index)
