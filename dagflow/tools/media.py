"""Media types: what they are named, and which of them dagflow can read and write."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Literal, TypeAlias

BodyKind: TypeAlias = Literal["json", "form", "multipart", "bytes", "text"]

_TEXT_SUFFIXES: Final = ("xml", "+xml", "yaml", "+yaml", "/javascript", "/graphql", "csv")
_ORDER: Final[tuple[BodyKind, ...]] = ("json", "form", "multipart", "bytes", "text")


def essence(media_type: str) -> str:
    """Return a media type without its parameters, in lower case."""
    return media_type.partition(";")[0].strip().lower()


def is_json(media_type: str) -> bool:
    """Tell whether bodies of this type are JSON (`application/json`, `…+json`)."""
    name = essence(media_type)
    return name == "application/json" or name.endswith(("+json", "/json"))


def kind_of(media_type: str) -> BodyKind:
    """Return how bodies of a media type are written; unknown ones are bytes."""
    name = essence(media_type)
    if is_json(name) or name in {"*/*", "application/*", ""}:
        return "json"
    if name == "application/x-www-form-urlencoded":
        return "form"
    if name == "multipart/form-data":
        return "multipart"
    if name.startswith("text/") or name.endswith(_TEXT_SUFFIXES):
        return "text"
    return "bytes"


def preferred(media_types: Iterable[str]) -> str | None:
    """Return the media type to use: plain JSON, then other JSON, then by kind, then by place."""
    found = list(media_types)
    return min(found, key=lambda name: _rank(name, found.index(name))) if found else None


def _rank(media_type: str, index: int) -> tuple[int, int, int]:
    name = essence(media_type)
    plain = 0 if name == "application/json" else 1 if is_json(name) else 2
    return _ORDER.index(kind_of(name)), plain, index


def matches(offered: str, actual: str) -> bool:
    """Tell whether an actual media type is within an offered one, which may be a range."""
    wanted, found = essence(offered), essence(actual)
    if wanted in {found, "*/*"} or (is_json(wanted) and is_json(found)):
        return True
    return wanted.endswith("/*") and found.startswith(wanted[:-1])
