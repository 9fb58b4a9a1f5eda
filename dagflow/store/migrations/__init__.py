"""The migrations of the schema, run by `dagflow db upgrade`."""

from __future__ import annotations
