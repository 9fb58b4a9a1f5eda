"""Types from end to end: of expressions, of steps, and of what goes from one into another."""

from __future__ import annotations
