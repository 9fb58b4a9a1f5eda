"""JSON Pointers (RFC 6901), as findings, schemas and errors name a place in a document."""

from __future__ import annotations


def under(pointer: str, *keys: object) -> str:
    """Return the pointer of what stands under these keys and indices below `pointer`."""
    parts = [str(key).replace("~", "~0").replace("/", "~1") for key in keys]
    return "/".join((pointer, *parts))


def keys_of(pointer: str) -> tuple[str, ...]:
    """Return the keys that a pointer leads through, indices as text."""
    return tuple(key.replace("~1", "/").replace("~0", "~") for key in pointer.split("/")[1:])
