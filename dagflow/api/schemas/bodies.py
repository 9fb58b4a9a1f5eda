"""The forms of what the REST API answers besides reports, runs and events."""

from __future__ import annotations

from typing import Final

from dagflow.api.schemas.form import COUNT, DIGEST, INSTANT, TEXT, closed, listed, ref
from dagflow.core.values import JsonObject

_REGISTERED: Final[dict[str, JsonObject]] = {
    "name": TEXT,
    "version": TEXT,
    "number": {**COUNT, "minimum": 1},
    "plan": DIGEST,
    "registered_at": INSTANT,
}

BODIES: Final[dict[str, JsonObject]] = {
    "Registered": closed(_REGISTERED, doc="A registered version of a workflow."),
    "RegisteredSource": closed(
        {**_REGISTERED, "source": TEXT}, doc="A registered version, with its source."
    ),
    "WorkflowList": closed({"workflows": listed(ref("Registered"))}),
    "VersionList": closed({"versions": listed(ref("Registered"))}),
    "Health": closed({"status": {"const": "ok"}}),
    "Problem": closed(
        {
            "type": {**TEXT, "format": "uri"},
            "title": TEXT,
            "status": {"type": "integer", "minimum": 400, "maximum": 599},
            "detail": TEXT,
            "instance": TEXT,
            "code": TEXT,
            "request_id": TEXT,
            "remedy": TEXT,
            "errors": listed(closed({"pointer": TEXT, "detail": TEXT})),
            "report": ref("Report"),
        },
        optional="remedy errors report",
        doc="RFC 9457 problem details. `code` names the kind of problem, `remedy` says what to do.",
    ),
}
