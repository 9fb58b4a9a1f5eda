"""From the proven graph to the plan: pruning, moves, places, bounds, lowering."""

from __future__ import annotations
