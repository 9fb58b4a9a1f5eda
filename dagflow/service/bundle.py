"""A workflow file with everything it refers to, read from disk once.

The compiler touches no files: this is where they are read, so that what it sees is a value.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from pathlib import Path
from typing import Final

from dagflow.compiler.source.parse import parse
from dagflow.compiler.source.text import decode
from dagflow.core.errors import NotFoundError, UsageError
from dagflow.core.findings import Finding
from dagflow.core.records import dataclass
from dagflow.core.shape import Table
from dagflow.core.source import Source
from dagflow.core.steps.foreach import Foreach
from dagflow.core.steps.repeat import Repeat
from dagflow.core.steps.workflow import SubWorkflow
from dagflow.core.words import closest
from dagflow.core.workflow import Step, ToolRef, Workflow

MAX_WORKFLOW: Final = 1024 * 1024
MAX_DOCUMENT: Final = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """An OpenAPI document as read: its text, or why it could not be read.

    `server` is the base URL that the workflow gives instead of the document's.
    """

    text: str = ""
    location: str = ""
    server: str | None = None
    problem: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bundle:
    """A workflow's source, the documents of its tools by name, and its child files by name.

    `findings` are those that reading the bytes already gave. A child file that contains itself
    is left out of `children`; the compiler says so.
    """

    source: Source
    folder: Path
    findings: tuple[Finding, ...] = ()
    documents: Mapping[str, Document] = field(default_factory=dict)
    children: Mapping[str, Bundle] = field(default_factory=dict)


def read_bundle(path: str) -> Bundle:
    """Read a workflow file and all it refers to.

    Raises `UsageError` when the file itself can't be read; trouble with what it refers to is
    kept in the bundle, since that is for the report to say.
    """
    if not path:
        raise UsageError("an empty text names no file", remedy="name a workflow file")
    return _read(Path(path), name=path, inside=())


def edited_bundle(path: str, text: str) -> Bundle:
    """Make a bundle of a file as an editor has it; what it refers to is read from disk."""
    where = Path(path)
    return _complete(Source(path, text), where.parent, inside=(where.resolve(),))


def bundle_of(text: str, name: str) -> Bundle:
    """Make a bundle of text that did not come from a file: nothing it refers to is read."""
    source = Source(name, text)
    workflow = parse(source).workflow
    none: Table[ToolRef] = Table()  # `Table[…]()` fails on a frozen class with slots
    tools = workflow.tools if workflow is not None else none
    missing = {
        tool.value: Document(
            location=reference.openapi.value,
            server=reference.server.value if reference.server else None,
            problem="it was not sent along",
        )
        for tool, reference in tools
        if reference.openapi is not None
    }
    return Bundle(source=source, folder=Path(), documents=missing)


def _read(path: Path, *, name: str, inside: tuple[Path, ...]) -> Bundle:
    data = _bytes(path, name)
    source, findings = decode(name, data)
    if findings:
        return Bundle(source=source, folder=path.parent, findings=findings)
    return _complete(source, path.parent, inside=(*inside, path.resolve()))


def _bytes(path: Path, name: str) -> bytes:
    try:
        with path.open("rb") as file:
            data = file.read(MAX_WORKFLOW + 1)
    except FileNotFoundError:
        raise UsageError(f"{name}: no such file", remedy=_similar(path)) from None
    except IsADirectoryError:
        remedy = f"name the files in it: {name.rstrip('/')}/*.yaml"
        raise UsageError(f"{name} is a folder", remedy=remedy) from None
    except OSError as error:
        raise UsageError(f"{name} can't be read: {error.strerror}") from error
    if len(data) > MAX_WORKFLOW:
        remedy = "split it into several workflows, called by `workflow` steps"
        raise UsageError(f"{name} is larger than 1 MiB", remedy=remedy)
    return data


def _similar(path: Path) -> str:
    try:
        names = [entry.name for entry in path.parent.iterdir()]
    except OSError:
        return f"there is no folder {path.parent}"
    near = closest(path.name, names)
    return f"did you mean {path.parent / near}?" if near else "`dagflow init` writes a starter"


def _complete(source: Source, folder: Path, *, inside: tuple[Path, ...]) -> Bundle:
    workflow = parse(source).workflow
    if workflow is None:
        return Bundle(source=source, folder=folder)
    return Bundle(
        source=source,
        folder=folder,
        documents=_documents(workflow.tools, folder),
        children=_children(workflow, folder, inside),
    )


def _documents(tools: Table[ToolRef], folder: Path) -> dict[str, Document]:
    found = {}
    for name, reference in tools:
        if reference.openapi is not None:
            server = reference.server.value if reference.server else None
            document = _document(folder / reference.openapi.value)
            found[name.value] = replace(document, server=server)
    return found


def _document(path: Path) -> Document:
    location = path.as_posix()
    try:
        if path.stat().st_size > MAX_DOCUMENT:
            return Document(location=location, problem="it is larger than 64 MiB")
        return Document(location=location, text=path.read_text("utf-8"))
    except FileNotFoundError:
        return Document(location=location, problem="no such file")
    except UnicodeDecodeError:
        return Document(location=location, problem="it is not UTF-8 text")
    except OSError as error:
        return Document(location=location, problem=error.strerror or str(error))


def _children(workflow: Workflow, folder: Path, inside: tuple[Path, ...]) -> dict[str, Bundle]:
    found: dict[str, Bundle] = {}
    for written in _child_files(workflow):
        path = folder / written
        if path.resolve() in inside or written in found:
            continue
        try:
            found[written] = _read(path, name=_shown(path), inside=inside)
        except (UsageError, NotFoundError):
            continue
    return found


def _shown(path: Path) -> str:
    """Return a path as reports show it: from the working folder where it lies below that."""
    inside = path.is_absolute() and path.is_relative_to(Path.cwd())
    return path.relative_to(Path.cwd()).as_posix() if inside else path.as_posix()


def _child_files(workflow: Workflow) -> list[str]:
    waiting: list[Step] = [*workflow.steps, *workflow.finally_]
    found = []
    while waiting:
        step = waiting.pop(0)
        body = step.body
        if isinstance(body, SubWorkflow) and body.file is not None:
            found.append(body.file.value)
        if isinstance(body, Foreach | Repeat):
            waiting.extend(body.steps)
        if step.compensate is not None:
            waiting.append(step.compensate)
    return found
