"""JSON Pointers (RFC 6901), as findings, schemas and errors name a place in a document."""

from __future__ import annotations

from typing import Any
from urllib.parse import unquote


def under(pointer: str, *keys: object) -> str:
    """Return the pointer of what stands under these keys and indices below `pointer`."""
    parts = [str(key).replace("~", "~0").replace("/", "~1") for key in keys]
    return "/".join((pointer, *parts))


def keys_of(pointer: str) -> tuple[str, ...]:
    """Return the keys that a pointer leads through, indices as text."""
    return tuple(key.replace("~1", "/").replace("~0", "~") for key in pointer.split("/")[1:])


def fragment(reference: str) -> str:
    """Return the pointer that a local reference names: `#/a%20b` is the pointer `/a b`."""
    return unquote(reference.removeprefix("#"))


def look_up(root: Any, pointer: str) -> Any:
    """Return the JSON value at a pointer. Raises `KeyError` with the first key that isn't there."""
    found = root
    for key in keys_of(pointer):
        if isinstance(found, dict) and key in found:
            found = found[key]
        elif isinstance(found, list) and key.isdecimal() and int(key) < len(found):
            found = found[int(key)]
        else:
            raise KeyError(key)
    return found
