"""The language server itself: the protocol in, answers out. pygls speaks the protocol."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from lsprotocol import types
from pygls.lsp.server import LanguageServer

from dagflow.core.findings import Edit, Finding, Related, Severity
from dagflow.core.source import Span
from dagflow.lsp import answers
from dagflow.lsp.document import Document, opened
from dagflow.version import VERSION

_SEVERITY: Final = {
    Severity.ERROR: types.DiagnosticSeverity.Error,
    Severity.WARNING: types.DiagnosticSeverity.Warning,
    Severity.NOTE: types.DiagnosticSeverity.Information,
}
_KINDS: Final = {
    "step": types.CompletionItemKind.Function,
    "input": types.CompletionItemKind.Variable,
    "variable": types.CompletionItemKind.Variable,
    "field": types.CompletionItemKind.Field,
    "operation": types.CompletionItemKind.Method,
    "kind": types.CompletionItemKind.Keyword,
}


def path_of(uri: str) -> str:
    """Return the path of a file's URI; other URIs stand for themselves."""
    parts = urlsplit(uri)
    return unquote(parts.path) if parts.scheme == "file" else uri


def range_of(span: Span) -> types.Range:
    """Return a place as the protocol counts it, from 0; columns are code points (UTF-32)."""
    return types.Range(
        types.Position(span.line - 1, span.column - 1),
        types.Position(span.end_line - 1, span.end_column - 1),
    )


def made_server() -> LanguageServer:
    """Return a server that knows no document yet."""
    server = LanguageServer(
        "dagflow", VERSION, text_document_sync_kind=types.TextDocumentSyncKind.Full
    )
    documents: dict[str, Document] = {}

    def looked_at(uri: str, text: str, version: int | None) -> None:
        document = opened(path_of(uri), text, documents.get(uri))
        documents[uri] = document
        server.text_document_publish_diagnostics(
            types.PublishDiagnosticsParams(
                uri, [diagnostic(finding, uri) for finding in document.findings], version
            )
        )

    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    def did_open(params: types.DidOpenTextDocumentParams) -> None:
        document = params.text_document
        looked_at(document.uri, document.text, document.version)

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    def did_change(params: types.DidChangeTextDocumentParams) -> None:
        document = params.text_document
        text = server.workspace.get_text_document(document.uri).source
        looked_at(document.uri, text, document.version)

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    def did_close(params: types.DidCloseTextDocumentParams) -> None:
        documents.pop(params.text_document.uri, None)

    @server.feature(types.TEXT_DOCUMENT_HOVER)
    def hover(params: types.HoverParams) -> types.Hover | None:
        found = _asked(documents, params, answers.hover)
        if found is None:
            return None
        content = types.MarkupContent(types.MarkupKind.Markdown, found[0])
        return types.Hover(content, range_of(found[1]))

    @server.feature(
        types.TEXT_DOCUMENT_COMPLETION, types.CompletionOptions(trigger_characters=[".", " "])
    )
    def completion(params: types.CompletionParams) -> list[types.CompletionItem]:
        choices = _asked(documents, params, answers.complete) or []
        return [
            types.CompletionItem(c.label, kind=_KINDS[c.kind], detail=c.detail or c.kind)
            for c in choices
        ]

    @server.feature(types.TEXT_DOCUMENT_DEFINITION)
    def definition(params: types.DefinitionParams) -> types.Location | None:
        span = _asked(documents, params, answers.definition)
        return None if span is None else types.Location(params.text_document.uri, range_of(span))

    @server.feature(types.TEXT_DOCUMENT_RENAME)
    def rename(params: types.RenameParams) -> types.WorkspaceEdit | None:
        document = documents.get(params.text_document.uri)
        at = params.position
        if document is None:
            return None
        edits = answers.rename(document, at.line + 1, at.character + 1, params.new_name)
        return _changes(params.text_document.uri, edits) if edits else None

    @server.feature(
        types.TEXT_DOCUMENT_CODE_ACTION,
        types.CodeActionOptions(code_action_kinds=[types.CodeActionKind.QuickFix]),
    )
    def code_action(params: types.CodeActionParams) -> list[types.CodeAction]:
        uri = params.text_document.uri
        document = documents.get(uri)
        lines = range(params.range.start.line + 1, params.range.end.line + 2)
        near = (f for f in (document.findings if document else ()) if f.span.line in lines)
        return [
            types.CodeAction(
                fix.description,
                kind=types.CodeActionKind.QuickFix,
                diagnostics=[diagnostic(finding, uri)],
                edit=_changes(uri, fix.edits),
            )
            for finding in near
            for fix in finding.fixes
        ]

    return server


def _asked(documents: dict[str, Document], params: Any, answer: Any) -> Any:
    document = documents.get(params.text_document.uri)
    at = params.position
    return None if document is None else answer(document, at.line + 1, at.character + 1)


def _changes(uri: str, edits: Iterable[Edit]) -> types.WorkspaceEdit:
    changes = [types.TextEdit(range_of(edit.span), edit.text) for edit in edits]
    return types.WorkspaceEdit(changes={uri: changes})


def diagnostic(finding: Finding, uri: str) -> types.Diagnostic:
    """Return a finding as editors show it, with the places that it speaks of."""
    help_ = f"\n{finding.help}" if finding.help else ""
    return types.Diagnostic(
        range_of(finding.span),
        finding.message + help_,
        severity=_SEVERITY[finding.severity],
        code=finding.code,
        code_description=types.CodeDescription(f"https://dagflow.dev/docs/rules/{finding.code}"),
        source="dagflow",
        related_information=[_told(place, uri) for place in (*finding.related, *finding.flow)],
    )


def _told(place: Related, uri: str) -> types.DiagnosticRelatedInformation:
    where = uri if place.span.file in {"", path_of(uri)} else f"file://{place.span.file}"
    return types.DiagnosticRelatedInformation(
        types.Location(where, range_of(place.span)), place.message
    )
