"""Every named form, and the table as an OpenAPI document has it."""

from __future__ import annotations

from typing import Final

from dagflow.api.schemas.bodies import BODIES
from dagflow.api.schemas.events import EVENTS
from dagflow.api.schemas.form import PREFIX
from dagflow.api.schemas.report import REPORT
from dagflow.api.schemas.run import RUN
from dagflow.core.values import JsonObject, JsonValue

DEFINITIONS: Final[dict[str, JsonObject]] = {**REPORT, **RUN, **EVENTS, **BODIES}
COMPONENTS: Final = "#/components/schemas/"


def components() -> JsonObject:
    """Return the table with references as an OpenAPI document writes them."""
    return {name: _moved(schema) for name, schema in DEFINITIONS.items()}


def _moved(value: JsonValue) -> JsonValue:
    if isinstance(value, list):
        return [_moved(item) for item in value]
    if isinstance(value, dict):
        return {key: _moved(item) for key, item in value.items()}
    if isinstance(value, str) and value.startswith(PREFIX):
        return COMPONENTS + value.removeprefix(PREFIX)
    return value
