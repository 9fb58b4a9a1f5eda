"""Server-sent events out of bytes, however the network cut them."""

from __future__ import annotations

import codecs
from collections.abc import AsyncIterator, Iterator

from dagflow.core.errors import StepError

MAX_EVENT = 4 * 1024 * 1024
"""Characters of one event; a server that sends more without an end is broken or hostile."""


class EventParser:
    """Collects bytes and gives the `data` of each event that is complete.

    Lines end with LF, CR LF or CR; comments and fields other than `data` are passed over.
    """

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")(errors="replace")
        self._line = ""
        self._data: list[str] = []
        self._size = 0
        self._skip_newline = False

    def feed(self, chunk: bytes) -> Iterator[str]:
        """Yield the data of the events that `chunk` completes. Raises `StepError(network)`."""
        yield from self._lines(self._decoder.decode(chunk))

    def finish(self) -> Iterator[str]:
        """Yield a last event that the server did not close with an empty line."""
        yield from self._lines(self._decoder.decode(b"", final=True) + "\n\n")

    def _lines(self, text: str) -> Iterator[str]:
        if not text:
            return  # whether a LF is to be skipped is still open
        if self._skip_newline:
            # the LF of a CR LF that two chunks shared
            text = text.removeprefix("\n")
            self._skip_newline = False
        *ended, rest = self._line_ends(self._line + text)
        self._line = rest
        if len(self._line) + self._size > MAX_EVENT:
            raise StepError("network", f"the server sent an event of over {MAX_EVENT} characters")
        for line in ended:
            yield from self._line_read(line)

    def _line_ends(self, text: str) -> list[str]:
        self._skip_newline = text.endswith("\r")
        return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")

    def _line_read(self, line: str) -> Iterator[str]:
        if not line:
            if self._data:
                yield "\n".join(self._data)
            self._data, self._size = [], 0
            return
        name, _, value = line.partition(":")
        if name == "data":
            value = value.removeprefix(" ")
            self._data.append(value)
            self._size += len(value)


async def events(chunks: AsyncIterator[bytes]) -> AsyncIterator[str]:
    """Yield the data of each event of a body, to its end."""
    parser = EventParser()
    async for chunk in chunks:
        for data in parser.feed(chunk):
            yield data
    for data in parser.finish():
        yield data
