"""How fast dagflow is, beside what the machine can do at all and beside its peers."""

from __future__ import annotations
