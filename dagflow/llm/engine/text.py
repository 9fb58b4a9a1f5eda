"""Text out of tokens as they come: whole code points only, and nothing past a stop text."""

from __future__ import annotations

import codecs
from collections.abc import Sequence


class TextStream:
    """Turns the bytes of tokens into text that may be shown.

    A code point that spans tokens is held back until it is whole, and dropped if it never is;
    text that may be the beginning of a stop text is held back until it turns out not to be.
    """

    def __init__(self, stops: Sequence[str] = ()) -> None:
        self._stops = tuple(stops)
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._held = ""
        self.stopped = False

    def push(self, data: bytes) -> str:
        """Return the text that `data` makes certain; "" once a stop text has come."""
        if self.stopped:
            return ""
        return self._certain(self._held + self._decoder.decode(data))

    def finish(self) -> str:
        """Return what was held back, now that nothing follows."""
        held, self._held = self._held, ""
        return "" if self.stopped else held

    def _certain(self, text: str) -> str:
        found = [at for at in (text.find(stop) for stop in self._stops) if at >= 0]
        if found:
            self.stopped, self._held = True, ""
            return text[: min(found)]
        keep = max((_overlap(text, stop) for stop in self._stops), default=0)
        cut = len(text) - keep
        self._held = text[cut:]
        return text[:cut]


def _overlap(text: str, stop: str) -> int:
    """Return the length of the longest end of `text` that `stop` begins with."""
    most = min(len(text), len(stop) - 1)
    return next((size for size in range(most, 0, -1) if text.endswith(stop[:size])), 0)
