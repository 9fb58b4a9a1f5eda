"""What every request passes first and every answer last."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Iterable
from typing import Final
from urllib.parse import urlsplit

from fastapi import Request
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dagflow.api.problems import RefusedRequestError, problem, problem_of

_log = logging.getLogger(__name__)

LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})
SECURITY_HEADERS: Final = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class Guard:
    """Gives a request its id, turns away what did not come from here, and answers for bugs.

    Only requests for one of `hosts` are taken, so that a page in a browser can't reach the
    server under a name of its own (DNS rebinding); and only those that no foreign page sent.
    Every answer carries the id and the headers that keep browsers careful.
    """

    def __init__(self, app: ASGIApp, *, hosts: Iterable[str]) -> None:
        self._app = app
        self._hosts = frozenset(hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Take one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request = Request(scope, receive)
        request.state.request_id = uuid.uuid4().hex
        marked = _Marked(send, request.state.request_id)
        try:
            check(request.headers, self._hosts)
            await self._app(scope, receive, marked)
        except RefusedRequestError as error:
            await problem_of(request, error)(scope, receive, marked)
        except Exception as error:
            _log.exception("request_broke request_id=%s", request.state.request_id)
            if marked.started:
                raise
            detail = f"a bug in dagflow: {type(error).__name__}"
            remedy = f"report it with the log of request {request.state.request_id}"
            await problem(request, 500, "bug", detail, remedy=remedy)(scope, receive, marked)


class _Marked:
    """Sends an answer with its headers added."""

    def __init__(self, send: Send, request_id: str) -> None:
        self._send = send
        self._request_id = request_id
        self.started = False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.started = True
            headers = MutableHeaders(scope=message)
            headers["X-Request-ID"] = self._request_id
            for name, value in SECURITY_HEADERS.items():
                headers.setdefault(name, value)
        await self._send(message)


def check(headers: Headers, hosts: frozenset[str]) -> None:
    """Raise `RefusedRequestError` for a request that is not meant for here or is ambiguous."""
    host = hostname(f"//{headers.get('host', '')}")
    if host not in hosts:
        raise RefusedRequestError(
            421, "wrong-host", f"this server does not serve {host or 'a request without a host'!r}",
            remedy=f"use one of {', '.join(sorted(hosts))}",
        )  # fmt: skip
    origin = headers.get("origin")
    if origin is not None and hostname(origin) not in hosts:
        raise RefusedRequestError(403, "foreign-origin", f"pages of {origin!r} may not ask here")
    if "transfer-encoding" in headers and "content-length" in headers:
        raise RefusedRequestError(400, "ambiguous-length", "the body's length is given twice")
    if headers.get("content-encoding", "identity").lower() != "identity":
        raise RefusedRequestError(
            415, "encoded-body", "bodies are not decompressed", remedy="send it as it is"
        )


def hostname(url: str) -> str:
    """Return the host of a URL in lower case, without port; "" where there is none."""
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""
