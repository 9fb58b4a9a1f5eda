"""The language server through a real client, over the pipes that an editor uses."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types
from pygls.lsp.client import LanguageClient

FLOW = """\
dagflow: 1
name: w
inputs: {count: integer}
steps:
  double: {transform: inputs.count * 2}
  shape: {transform: '{"total": steps.double.output, "label": "x"}'}
  last: {after: double, transform: steps.shape.output.total + 1}
outputs:
  n: ${{ steps.last.output }}
"""


class Editor:
    """An open file in an editor."""

    def __init__(
        self,
        client: LanguageClient,
        uri: str,
        told: asyncio.Queue[types.PublishDiagnosticsParams],
    ) -> None:
        self.client, self.uri, self.told = client, uri, told

    async def open(self, text: str) -> list[types.Diagnostic]:
        item = types.TextDocumentItem(self.uri, "yaml", 1, text)
        self.client.text_document_did_open(types.DidOpenTextDocumentParams(item))
        return list((await asyncio.wait_for(self.told.get(), 20)).diagnostics)

    async def change(self, text: str) -> list[types.Diagnostic]:
        self.client.text_document_did_change(
            types.DidChangeTextDocumentParams(
                types.VersionedTextDocumentIdentifier(2, self.uri),
                [types.TextDocumentContentChangeWholeDocument(text)],
            )
        )
        return list((await asyncio.wait_for(self.told.get(), 20)).diagnostics)

    @property
    def document(self) -> types.TextDocumentIdentifier:
        return types.TextDocumentIdentifier(self.uri)


def at(text: str, word: str, offset: int = 0) -> types.Position:
    """Return the position in a text where a word begins, and a number of characters on."""
    before = text[: text.index(word)]
    return types.Position(before.count("\n"), len(before.rpartition("\n")[2]) + offset)


class Session:
    """A server that is running, and the loop that its client lives in."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._client = LanguageClient("test", "1")
        self._told: dict[str, asyncio.Queue[types.PublishDiagnosticsParams]] = {}

        @self._client.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        def told(params: types.PublishDiagnosticsParams) -> None:
            self._told[params.uri].put_nowait(params)

    def start(self) -> None:
        self._loop.run_until_complete(asyncio.wait_for(self._start(), 30))

    async def _start(self) -> None:
        await self._client.start_io(sys.executable, "-m", "dagflow", "lsp")
        general = types.GeneralClientCapabilities(
            position_encodings=[types.PositionEncodingKind.Utf32]
        )
        await self._client.initialize_async(
            types.InitializeParams(capabilities=types.ClientCapabilities(general=general))
        )
        self._client.initialized(types.InitializedParams())

    def edit(self, file: Path, work: Callable[[Editor], Awaitable[Any]]) -> Any:
        """Open a file in an editor, and return what is found there."""
        uri = file.as_uri()
        self._told[uri] = asyncio.Queue()
        editor = Editor(self._client, uri, self._told[uri])
        return self._loop.run_until_complete(asyncio.wait_for(work(editor), 40))

    def stop(self) -> None:
        async def stop() -> None:
            await self._client.shutdown_async(None)
            self._client.exit(None)
            await self._client.stop()

        self._loop.run_until_complete(asyncio.wait_for(stop(), 20))
        self._loop.close()


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    found = Session()
    found.start()
    yield found
    found.stop()


def test_findings_come_as_the_text_changes(session: Session, tmp_path: Path) -> None:
    async def work(editor: Editor) -> tuple[list[types.Diagnostic], list[types.Diagnostic]]:
        good = await editor.open(FLOW)
        bad = await editor.change(FLOW.replace("steps.double.output,", "steps.duble.output,"))
        return good, bad

    good, bad = session.edit(tmp_path / "w.yaml", work)

    assert good == []
    (finding,) = bad
    assert (finding.code, finding.severity) == ("DF101", types.DiagnosticSeverity.Error)
    assert finding.range.start == at(FLOW, "double.output, ")


def test_hover_tells_types_and_definition_leads_to_the_step(
    session: Session, tmp_path: Path
) -> None:
    async def work(editor: Editor) -> Any:
        await editor.open(FLOW)
        place = at(FLOW, "steps.shape.output.total", 20)
        hover = await editor.client.text_document_hover_async(
            types.HoverParams(editor.document, place)
        )
        step = await editor.client.text_document_definition_async(
            types.DefinitionParams(editor.document, at(FLOW, "steps.shape.output.total", 8))
        )
        return hover, step

    hover, step = session.edit(tmp_path / "w.yaml", work)

    assert "integer" in hover.contents.value
    assert step.range.start == at(FLOW, "shape:")


@pytest.mark.parametrize(
    ("written", "wanted"),
    [
        ("steps.", {"double", "shape", "last"}),
        ("steps.shape.output.", {"total", "label"}),
        ("inputs.", {"count"}),
    ],
)
def test_completion_knows_what_may_follow(
    session: Session, tmp_path: Path, written: str, wanted: set[str]
) -> None:
    async def work(editor: Editor) -> Any:
        await editor.open(FLOW)
        text = FLOW.replace("inputs.count * 2", written)
        await editor.change(text)
        return await editor.client.text_document_completion_async(
            types.CompletionParams(editor.document, at(text, f"{written}}}", len(written)))
        )

    items = session.edit(tmp_path / "w.yaml", work)

    assert {item.label for item in items} == wanted


def test_step_is_renamed_in_edges_and_expressions(session: Session, tmp_path: Path) -> None:
    async def work(editor: Editor) -> Any:
        await editor.open(FLOW)
        return await editor.client.text_document_rename_async(
            types.RenameParams(editor.document, at(FLOW, "double:"), "twice")
        )

    found = session.edit(tmp_path / "w.yaml", work)

    (edits,) = found.changes.values()
    lines = FLOW.split("\n")
    for edit in sorted(edits, key=lambda e: -e.range.start.character):
        line = edit.range.start.line
        begin, end = edit.range.start.character, edit.range.end.character
        lines[line] = lines[line][:begin] + edit.new_text + lines[line][end:]
    assert "\n".join(lines) == FLOW.replace("double", "twice")


def test_fix_of_a_finding_is_offered_as_an_action(session: Session, tmp_path: Path) -> None:
    async def work(editor: Editor) -> Any:
        text = FLOW.replace("transform: inputs", "transfrom: inputs")
        (finding, *_) = await editor.open(text)
        return await editor.client.text_document_code_action_async(
            types.CodeActionParams(
                editor.document, finding.range, types.CodeActionContext([finding])
            )
        )

    (action, *_) = session.edit(tmp_path / "w.yaml", work)

    (edit,) = action.edit.changes[(tmp_path / "w.yaml").as_uri()]
    assert edit.new_text == "transform"
