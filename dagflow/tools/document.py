"""An OpenAPI document as a tool: its operations by id, each compiled when it is asked for."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final, Generic, TypeVar

from dagflow.core.tool import Operation, Tool, ToolProblem
from dagflow.core.values import JsonObject, JsonValue, digest
from dagflow.tools.compile import Document, Entry, compile_operation
from dagflow.tools.read import LIMITS, DocumentError, ReadLimits, read_document
from dagflow.tools.refs import OperationRefusedError, Resolver
from dagflow.tools.schemas import Dialect

METHODS: Final = ("get", "put", "post", "delete", "options", "head", "patch", "trace")
V = TypeVar("V")


def load_tool(
    name: str,
    text: str,
    *,
    location: str,
    server: str | None = None,
    limits: ReadLimits = LIMITS,
) -> Tool:
    """Read an OpenAPI 3.0 or 3.1 document, JSON or YAML, as the tool `name`.

    `location` is where it came from (a path or a URL, for messages and relative servers), `server`
    a base URL to use instead of its own. Operations are compiled on access and kept; one that
    can't be is in `refusals`, and harms no other. Raises `DocumentError` when nothing of the
    document can be used.
    """
    root = read_document(text, location=location, limits=limits)
    document = Document(
        tool=name, root=root, dialect=dialect_of(root), location=location, server=server
    )
    notes: list[ToolProblem] = []
    entries = {f"{name}.{e.method} {e.path}": e for e in _entries(document, notes)}
    if not entries:
        raise DocumentError("the document has no operations")
    shelf = _Shelf(document, entries)
    return Tool(
        name=name,
        version=digest([text, server]),
        operations=_Lazy(entries, shelf.operation),
        names=_names(entries),
        problems=tuple(notes),
        refusals=_Lazy(entries, shelf.refusal),
    )


def dialect_of(root: JsonObject) -> Dialect:
    """Return the document's dialect, or raise `DocumentError` for one that isn't supported."""
    version = root.get("openapi")
    if version is None and "swagger" in root:
        raise DocumentError(
            f"this is a Swagger {root['swagger']} document; convert it to OpenAPI 3 first"
        )
    match = re.match(r"3\.([01])(?:\.|$)", str(version))
    if match is None:
        found = "no `openapi` version" if version is None else f"openapi {version!r}"
        raise DocumentError(f"the document has {found}; 3.0 and 3.1 are supported")
    return "3.0" if match[1] == "0" else "3.1"


def _entries(document: Document, notes: list[ToolProblem]) -> Iterator[Entry]:
    paths = document.root.get("paths")
    for path, raw in (paths if isinstance(paths, dict) else {}).items():
        item = _item(document, path, raw, notes)
        for method in METHODS:
            operation = item.get(method)
            if isinstance(operation, dict):
                yield _entry(method, path, item, operation)


def _item(document: Document, path: str, raw: JsonValue, notes: list[ToolProblem]) -> JsonObject:
    if not path.startswith("/"):
        if not path.startswith("x-"):
            notes.append(_problem(document, f"the path {path!r} does not begin with a slash"))
        return {}
    try:
        item, _ = Resolver(document.root).follow(raw, "/paths")
    except OperationRefusedError as error:
        notes.append(_problem(document, f"the path {path!r} was left out: {error.message}"))
        return {}
    return item if isinstance(item, dict) else {}


def _entry(method: str, path: str, item: JsonObject, operation: JsonObject) -> Entry:
    given = operation.get("operationId")
    return Entry(
        method=method.upper(),
        path=path,
        name=given if isinstance(given, str) else "",
        item=item,
        operation=operation,
    )


def _problem(document: Document, message: str, operation: str = "", at: str = "") -> ToolProblem:
    place = f"{document.location}#{at}" if at else document.location
    return ToolProblem(tool=document.tool, message=message, operation=operation, location=place)


def _names(entries: Mapping[str, Entry]) -> dict[str, tuple[str, ...]]:
    """Return what steps may write: `METHOD /path`, and each operationId with all that share it."""
    found: dict[str, tuple[str, ...]] = {}
    for id_, entry in entries.items():
        for name in (f"{entry.method} {entry.path}", entry.name):
            if name and id_ not in found.get(name, ()):
                found[name] = (*found.get(name, ()), id_)
    return found


class _Shelf:
    """Compiled operations and refusals, made once each."""

    def __init__(self, document: Document, entries: Mapping[str, Entry]) -> None:
        self._document = document
        self._entries = entries
        self._made: dict[str, Operation | ToolProblem] = {}

    def operation(self, id_: str) -> Operation | None:
        made = self._make(id_)
        return made if isinstance(made, Operation) else None

    def refusal(self, id_: str) -> ToolProblem | None:
        made = self._make(id_)
        return made if isinstance(made, ToolProblem) else None

    def _make(self, id_: str) -> Operation | ToolProblem:
        if id_ not in self._made:
            self._made[id_] = self._compile(id_)
        return self._made[id_]

    def _compile(self, id_: str) -> Operation | ToolProblem:
        entry = self._entries[id_]
        try:
            return compile_operation(self._document, entry)
        except OperationRefusedError as error:
            return _problem(self._document, error.message, id_, error.at or entry.at)
        except RecursionError:
            return _problem(self._document, "nested too deeply", id_, entry.at)


class _Lazy(Mapping[str, V], Generic[V]):
    """The entries for which `make` gives something, looked at one by one."""

    def __init__(self, entries: Mapping[str, Entry], make: Callable[[str], V | None]) -> None:
        self._entries = entries
        self._make = make

    def __getitem__(self, key: str) -> V:
        made = self._make(key) if key in self._entries else None
        if made is None:
            raise KeyError(key)
        return made

    def __iter__(self) -> Iterator[str]:
        return (key for key in self._entries if self._make(key) is not None)

    def __len__(self) -> int:
        return sum(1 for _ in self)
