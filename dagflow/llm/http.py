"""Streaming POST over httpcore2: the transport of chats, unless wiring gives another."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import httpcore2

from dagflow.core.errors import StepError
from dagflow.llm.protocol import HttpReply

CONNECT_SECONDS = 10.0


class PooledStream:
    """An `HttpStream` over one pool of connections: no redirects, no proxies, no compression."""

    def __init__(self, *, ca_file: str = "") -> None:
        self._ca_file = ca_file
        self._opened: httpcore2.AsyncConnectionPool | None = None

    @asynccontextmanager
    async def post(
        self,
        url: str,
        *,
        headers: Mapping[str, str],
        body: bytes,
        timeout: float | None,  # noqa: ASYNC109  # the bound goes to the HTTP client
    ) -> AsyncIterator[HttpReply]:
        """Send `body` and give the answer, as `HttpStream` promises."""
        try:
            async with self._pool().stream(
                "POST",
                url,
                headers=_sent(headers, len(body)),
                content=body,
                extensions={"timeout": _bounds(timeout)},
            ) as answer:
                yield HttpReply(answer.status, _read(answer.headers), answer.aiter_stream())
        except httpcore2.TimeoutException as error:
            raise StepError("timeout", f"{url} was silent for too long") from error
        except (httpcore2.NetworkError, httpcore2.ProtocolError) as error:
            said = str(error) or type(error).__name__
            raise StepError("network", f"the connection to {url} failed: {said}") from error
        except (httpcore2.UnsupportedProtocol, UnicodeError) as error:
            raise StepError("network", f"{url!r} is not a usable address: {error}") from error

    def _pool(self) -> httpcore2.AsyncConnectionPool:
        if self._opened is None:
            context = httpcore2.default_ssl_context()
            if self._ca_file:
                context.load_verify_locations(self._ca_file)
            self._opened = httpcore2.AsyncConnectionPool(ssl_context=context)
        return self._opened

    async def close(self) -> None:
        """Close every connection."""
        pool, self._opened = self._opened, None
        if pool is not None:
            await pool.aclose()


def _bounds(timeout: float | None) -> dict[str, float | None]:
    connect = CONNECT_SECONDS if timeout is None else min(timeout, CONNECT_SECONDS)
    return {"connect": connect, "pool": timeout, "read": timeout, "write": timeout}


def _sent(headers: Mapping[str, str], length: int) -> list[tuple[bytes, bytes]]:
    given = [(name.encode("ascii"), value.encode("utf-8")) for name, value in headers.items()]
    return [*given, (b"content-length", str(length).encode())]


def _read(headers: list[tuple[bytes, bytes]]) -> dict[str, str]:
    return {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in headers}
