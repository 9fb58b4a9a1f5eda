"""The standard streams, made so that whoever reads them, or doesn't, changes nothing we do."""

from __future__ import annotations

import os
import sys
from typing import Any, TextIO, cast


def settle() -> None:
    """Open what the caller has closed of the three streams, and let readers go away.

    A closed one would be taken by the next file that is opened, and written to as a stream. What
    can't be written to stderr, for whatever reason, is no reason to do less.
    """
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:
            nowhere = os.open(os.devnull, os.O_RDWR)
            setattr(sys, name, os.fdopen(nowhere, "r" if name == "stdin" else "w"))
    sys.stdout = cast("TextIO", Heedless(sys.stdout, BrokenPipeError))
    sys.stderr = cast("TextIO", Heedless(sys.stderr, OSError))


class Heedless:
    """A stream whose reader may go away, as `head` does: what is written after that is dropped.

    So a run goes on to its end, and a command exits with the code that it has to give. `lost` is
    the error that says that nobody reads.
    """

    def __init__(self, stream: TextIO, lost: type[OSError]) -> None:
        self._stream = stream
        self._lost = lost

    def write(self, text: str) -> int:
        """Write text."""
        try:
            return self._stream.write(text)
        except self._lost:
            self._drop()
            return len(text)

    def flush(self) -> None:
        """Hand on what was written."""
        try:
            self._stream.flush()
        except self._lost:
            self._drop()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def _drop(self) -> None:
        """Lead the stream to nowhere, with what it still holds."""
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self._stream.fileno())
        os.close(nowhere)
