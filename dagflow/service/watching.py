"""Which files a check has read, and whether one of them has changed since."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TypeAlias

from dagflow.service.bundle import Bundle

Stamp: TypeAlias = tuple[int, int] | None
"""When a file was changed last (in nanoseconds), and its size; None where it can't be seen."""


def stamp_of(path: str) -> Stamp:
    """Return a file's stamp."""
    try:
        found = Path(path).stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size


def files_of(bundle: Bundle) -> Iterator[str]:
    """Yield the files of a bundle: its own, its tools' documents, those of what it calls."""
    yield bundle.source.name
    yield from (document.location for document in bundle.documents.values() if document.location)
    for child in bundle.children.values():
        yield from files_of(child)


class Watch:
    """Remembers files as they were."""

    def __init__(
        self,
        files: Iterable[str],
        stamp: Callable[[str], Stamp] = stamp_of,
        *,
        known: Watch | None = None,
    ) -> None:
        """Look at the files now; those that `known` looked at are as they were then."""
        self._stamp = stamp
        before = known.seen if known is not None else {}
        self.seen: dict[str, Stamp] = {
            file: before[file] if file in before else stamp(file) for file in files
        }

    def changed(self) -> tuple[str, ...]:
        """Return the files that are not as they were."""
        return tuple(file for file, seen in self.seen.items() if self._stamp(file) != seen)
