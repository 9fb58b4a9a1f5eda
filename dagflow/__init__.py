"""dagflow: a compiler and a durable runtime for agent workflows."""

from __future__ import annotations
