"""One operation of an OpenAPI document, compiled into what a step needs to call it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from dagflow.core.pointers import under
from dagflow.core.records import dataclass
from dagflow.core.steps.kind import Effects
from dagflow.core.tool import Operation
from dagflow.core.values import JsonObject, JsonValue, digest
from dagflow.tools.bodies import compile_body, compile_responses
from dagflow.tools.parameters import Parameters, compile_parameters
from dagflow.tools.refs import OperationRefusedError, Resolver
from dagflow.tools.schemas import Dialect, SchemaCompiler, clean
from dagflow.tools.security import compile_security
from dagflow.tools.servers import base_url
from dagflow.tools.validate import schema_problem

EFFECTS: Final[Mapping[str, Effects]] = {
    "GET": "pure", "HEAD": "pure", "OPTIONS": "pure", "TRACE": "pure",
    "PUT": "idempotent", "DELETE": "idempotent", "POST": "once", "PATCH": "once",
}  # fmt: skip
KEY_EXTENSION: Final = "x-dagflow-idempotency-key"
MAX_SUMMARY: Final = 300
WIRE_VERSION: Final = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A document as read: its root, its dialect, where it came from, and a server to use instead
    of its own."""

    tool: str
    root: JsonObject
    dialect: Dialect
    location: str = ""
    server: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One operation as it stands in the document, not yet compiled."""

    method: str
    path: str
    name: str
    item: JsonObject
    operation: JsonObject

    @property
    def at(self) -> str:
        """Return the operation's JSON Pointer."""
        return under("/paths", self.path, self.method.lower())


def compile_operation(document: Document, entry: Entry) -> Operation:
    """Compile one operation, reading no more of the document than it reaches.

    Equal closures give equal operations. Raises `OperationRefusedError` when it can't be called.
    """
    _check_path(entry)
    resolver = Resolver(document.root)
    request = SchemaCompiler(resolver, document.dialect, "request")
    response = SchemaCompiler(resolver, document.dialect, "response")
    parameters = compile_parameters(request, entry.path, _listed(entry))
    body = compile_body(request, entry.operation.get("requestBody"), f"{entry.at}/requestBody")
    arguments = request.close(_arguments(parameters, body))
    output, responses = compile_responses(
        response, entry.method, entry.operation.get("responses"), f"{entry.at}/responses"
    )
    output = response.close(output)
    security = compile_security(
        resolver, entry.operation.get("security"), document.root.get("security")
    )
    _check(arguments, output)
    key_header = _key_header(entry.operation, parameters)
    wire: JsonObject = {
        "version": WIRE_VERSION,
        "id": f"{document.tool}.{entry.method} {entry.path}",
        "method": entry.method,
        "path": entry.path,
        "server": _server(document, entry),
        "parameters": parameters.wire,
        "body": None if body is None else body[1],
        "security": security,
        "idempotency_header": key_header,
        "arguments": arguments,
        "responses": responses,
        "definitions": output.get("$defs", {}),
    }
    return Operation(
        id=str(wire["id"]),
        operation_id=entry.name,
        method=entry.method,
        path=entry.path,
        arguments=arguments,
        output=output,
        effects="idempotent" if key_header else EFFECTS[entry.method],
        version=_version(document, entry, resolver),
        deprecated=entry.operation.get("deprecated") is True,
        summary=_summary(entry.operation),
        wire=wire,
        notes=tuple(dict.fromkeys([*request.notes, *response.notes])),
    )


def _check_path(entry: Entry) -> None:
    if re.search(r"[?#\s\\]|/\.{1,2}(?:/|$)", entry.path):
        raise OperationRefusedError(f"the path {entry.path!r} is not a plain path", entry.at)


def _listed(entry: Entry) -> list[tuple[JsonValue, str]]:
    """Return the path's parameters, then the operation's, each with its place."""
    places = (
        (entry.item.get("parameters"), under("/paths", entry.path, "parameters")),
        (entry.operation.get("parameters"), under(entry.at, "parameters")),
    )
    return [
        (raw, under(at, index))
        for listed, at in places
        if isinstance(listed, list)
        for index, raw in enumerate(listed)
    ]


def _arguments(parameters: Parameters, body: tuple[JsonValue, JsonObject] | None) -> JsonObject:
    properties: JsonObject = dict(parameters.groups)
    required = [name for name, group in parameters.groups.items() if group["required"]]
    if body is not None:
        properties["body"] = body[0]
        if body[1]["required"]:
            required.append("body")
    return {
        "type": "object",
        "properties": properties,
        "required": [*required],
        "additionalProperties": False,
    }


def _check(*schemas: JsonObject) -> None:
    for schema in schemas:
        problem = schema_problem(schema)
        if problem:
            raise OperationRefusedError(f"its schemas don't hold together: {problem}")


def _key_header(operation: JsonObject, parameters: Parameters) -> str:
    declared = operation.get(KEY_EXTENSION)
    return declared if isinstance(declared, str) else parameters.idempotency_header


def _server(document: Document, entry: Entry) -> str:
    levels = (
        entry.operation.get("servers"), entry.item.get("servers"), document.root.get("servers"),
    )  # fmt: skip
    return base_url(levels, location=document.location, override=document.server)


def _summary(operation: JsonObject) -> str:
    text = operation.get("summary") or operation.get("description") or ""
    return clean(str(text), MAX_SUMMARY)


def _version(document: Document, entry: Entry, resolver: Resolver) -> str:
    """Hash everything the operation depends on, as the document has it."""
    closure: JsonObject = {
        "method": entry.method,
        "path": entry.path,
        "dialect": document.dialect,
        "operation": entry.operation,
        "parameters": entry.item.get("parameters"),
        "server": _server(document, entry),
        "security": entry.operation.get("security", document.root.get("security")),
        "reached": resolver.reached,
    }
    return digest(closure)
