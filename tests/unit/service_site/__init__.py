"""Site files, histories, and what is made of recorded runs."""

from __future__ import annotations
