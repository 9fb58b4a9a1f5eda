"""Paths of steps in test files, which may leave out which item or turn they mean."""

from __future__ import annotations

import re
from functools import cache
from typing import Final

from dagflow.core.records import dataclass

_PART: Final = re.compile(r"(?P<joint>^|[./])(?P<name>[A-Za-z_][\w-]*)(?:\[(?P<index>\d+)\])?")
_INDEX: Final = re.compile(r"\[\d+\]")


@dataclass(frozen=True, slots=True)
class Selector:
    """The executions of one step: `loop.grade` all of them, `loop[3].grade` one.

    `static` is the path without indices, `exact` how many there are.
    """

    static: str
    exact: int
    pattern: re.Pattern[str]

    def picks(self, path: str) -> bool:
        """Tell whether the step at a run path, counted from the root run, is meant."""
        return self.pattern.fullmatch(path) is not None


@cache
def selector(text: str) -> Selector | None:
    """Return what a path of a test file picks, or None for a text that is no path of a step."""
    parts = list(_PART.finditer(text))
    if not parts or "".join(part[0] for part in parts) != text:
        return None
    if parts[0]["joint"] or parts[-1]["index"]:
        return None
    pattern = "".join(_written(part, last=part is parts[-1]) for part in parts)
    exact = sum(part["index"] is not None for part in parts)
    return Selector(static_of(text), exact, re.compile(pattern))


def _written(part: re.Match[str], *, last: bool) -> str:
    index = part["index"]
    frame = r"(?:\[\d+\])?" if index is None else rf"\[{index}\]"
    return re.escape(f"{part['joint']}{part['name']}") + ("" if last else frame)


def static_of(path: str) -> str:
    """Return a run path without its indices."""
    return _INDEX.sub("", path)


def whole(prefix: str, path: str) -> str:
    """Return the path of a step from the root run: `call/fetch` for one of a child run."""
    return f"{prefix}/{path}" if prefix else path


def order_of(path: str) -> tuple[int, ...]:
    """Return the indices in a path, so that 10 comes after 9."""
    return tuple(int(found[1:-1]) for found in _INDEX.findall(path))
