"""A run from its log."""

from __future__ import annotations

from collections.abc import Iterable
from copy import deepcopy

from dagflow.core.run import Change, Run


def replay(start: Run, changes: Iterable[Change]) -> Run:
    """Return the run that a log makes of the run as it was submitted; `start` is not written."""
    run = deepcopy(start)
    for change in changes:
        run.apply(change)
    return run
