"""The form of what `dagflow diff` tells."""

from __future__ import annotations

from typing import Final, get_args

from dagflow.api.schemas.form import FLAG, TEXT, closed, listed, one_of, ref
from dagflow.compiler.difference import RISKS, Area
from dagflow.core.values import JsonObject

DIFF: Final[dict[str, JsonObject]] = {
    "Difference": closed(
        {
            "schema_version": {"const": 1},
            "breaking": FLAG,
            "risk": one_of(RISKS),
            "changes": listed(ref("Change")),
        },
        doc="What a new version of a workflow changes; `risk` is the highest of all changes.",
    ),
    "Change": closed(
        {
            "area": one_of(get_args(Area)),
            "about": {**TEXT, "description": "what changes, as the file is written: inputs.x"},
            "text": TEXT,
            "risk": one_of(RISKS),
            "breaking": FLAG,
        },
        doc="One change. `breaking`: a caller that was right before may not be any more.",
    ),
}


def diff_definitions() -> dict[str, JsonObject]:
    """Return the table of a difference's objects."""
    return DIFF
