"""The messages of batches that this process has stored, until they are done."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from time import monotonic
from typing import Final

from dagflow.store.rows import Message, MessageKey

SLICE: Final = 0.5
"""Seconds of messages at a stretch: leases must be extended meanwhile, and requests be answered."""


class Mail:
    """Does messages in the order in which they came, and not one inside the other.

    A long line of child runs may end in one moment, and thousands may be stopped in one: the
    first would overflow the stack, the second hold up everything else. `perform` tells whether
    the database could be reached; `again` asks for `deliver` to be called soon, and tells whether
    it will be.
    """

    def __init__(
        self,
        perform: Callable[[Message], bool],
        again: Callable[[], bool],
        *,
        now: Callable[[], float] = monotonic,
    ) -> None:
        self._perform, self._again, self._now = perform, again, now
        self._open: dict[MessageKey, Message] = {}
        self._failed: list[Message] = []
        self._is_delivering = False

    def add(self, messages: Iterable[Message]) -> None:
        """Take up messages, each once, to be done by the outermost `deliver`."""
        self._open.update((message.key, message) for message in messages)

    def deliver(self) -> None:
        """Do what messages ask for, and what comes of that."""
        if self._is_delivering:
            return
        self._is_delivering = True
        until = self._now() + SLICE
        try:
            while self._open and not (self._now() > until and self._again()):
                message = self._open.pop(next(iter(self._open)))
                if not self._perform(message):
                    self._failed.append(message)
        finally:
            self._is_delivering = False

    def retry(self) -> None:
        """Do those, too, for which the database could not be reached."""
        failed, self._failed = self._failed, []
        self.add(failed)
        self.deliver()
