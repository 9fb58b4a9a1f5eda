"""The migrations of the schema, run by `dagflow.store.schema.upgrade`."""

from __future__ import annotations
