"""Keeps Python's cycle collector from looking at a growing workflow over and over."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

RARELY: Final = (200_000, 50, 100)
"""After how many new objects it looks at the young ones, and how often at the older."""

_LOCK: Final = threading.Lock()
_usual: list[tuple[int, int, int]] = []
"""The thresholds to go back to, once for each compilation that is under way."""


@contextmanager
def rarely_collecting() -> Iterator[None]:
    """Let the collector run rarely inside; afterwards as before, also where several overlap.

    A compilation makes hundreds of small objects for a step, keeps most of them to its end and
    ties hardly any into cycles: at its usual pace the collector takes a third of the time of a
    large workflow and finds nothing. It isn't stopped: what a hostile file leaves behind is found.
    """
    with _LOCK:
        _usual.append(_usual[0] if _usual else gc.get_threshold())
        gc.set_threshold(*RARELY)
    try:
        yield
    finally:
        with _LOCK:
            before = _usual.pop()
            if not _usual:
                gc.set_threshold(*before)
