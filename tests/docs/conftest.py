"""The pages' examples run where those of `workflows/` do."""

from __future__ import annotations

from tests.workflows.conftest import sandbox

__all__ = ["sandbox"]
