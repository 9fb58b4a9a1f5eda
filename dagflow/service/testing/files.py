"""Which test files a word of the command line means: a test file, a folder of them, a workflow."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from dagflow.core.errors import UsageError
from dagflow.core.words import closest
from dagflow.service.testing.running import SUFFIX


def files_of(words: Iterable[str]) -> tuple[str, ...]:
    """Return the test files, each once: those of a folder and a workflow by name, others as named.

    Raises `UsageError` where a word means none.
    """
    return tuple(dict.fromkeys(file for word in words for file in _meant(word)))


def _meant(word: str) -> Iterator[str]:
    path = Path(word)
    if path.is_dir():
        found = sorted(path.rglob(f"*{SUFFIX}"))
        yield from _some(found, f"there is no *{SUFFIX} in {word}")
    elif not path.is_file():
        raise UsageError(f"{word}: no such file", remedy=_similar(path))
    elif path.name.endswith(SUFFIX):
        yield word
    else:
        stem = path.name.removesuffix(path.suffix)
        beside = path.parent.glob("*" + SUFFIX)
        found = sorted(it for it in beside if it.name.startswith(f"{stem}."))
        yield from _some(found, f"{word} has no tests: there is no {stem}{SUFFIX} beside it")


def _some(found: list[Path], otherwise: str) -> list[str]:
    if not found:
        raise UsageError(otherwise, remedy="docs/testing.md shows how a test file is written")
    return [it.as_posix() for it in found]


def _similar(path: Path) -> str:
    try:
        names = [entry.name for entry in path.parent.iterdir()]
    except OSError:
        return f"there is no folder {path.parent}"
    near = closest(path.name, names)
    return f"did you mean {path.parent / near}?" if near else "name a test file, or its folder"
