"""dagflow beside its peers, each in its own process and environment."""

from __future__ import annotations
