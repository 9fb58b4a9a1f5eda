"""The step graph: edges, joins, one order, and rings."""

from __future__ import annotations
