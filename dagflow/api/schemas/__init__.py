"""The forms of what dagflow publishes: report, run, plan, event and the bodies around them.

Every object is named once in `DEFINITIONS`; the files of `schemas/` and the components of the
OpenAPI document are two writings of the same table.
"""

from __future__ import annotations

from dagflow.api.schemas.published import PUBLISHED, published
from dagflow.api.schemas.table import DEFINITIONS, components

__all__ = ["DEFINITIONS", "PUBLISHED", "components", "published"]
