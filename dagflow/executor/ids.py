"""Names of runs: sortable by the time they were made, and unguessable."""

from __future__ import annotations

import hashlib
import os
from datetime import datetime
from typing import Final

_ALPHABET: Final = "0123456789abcdefghjkmnpqrstvwxyz"
_TIME, _CHANCE = 10, 16
"""Characters (of five bits each) for milliseconds since 1970 and for chance."""


def new_run_id(now: datetime) -> str:
    """Return a new name."""
    chance = int.from_bytes(os.urandom(_CHANCE * 5 // 8), "big")
    return f"run_{_written(int(now.timestamp() * 1000), _TIME)}{_written(chance, _CHANCE)}"


def child_run_id(parent: str, key: str) -> str:
    """Return the name of a child run: the same parent and key always give the same one."""
    found = hashlib.sha256(f"{parent}\n{key}".encode()).digest()
    return f"run_{_written(int.from_bytes(found, 'big'), _TIME + _CHANCE)}"


def _written(number: int, length: int) -> str:
    return "".join(_ALPHABET[number >> 5 * place & 31] for place in reversed(range(length)))
