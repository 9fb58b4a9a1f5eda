"""The HTTP client of tool calls: pooled, without redirects, proxies, cookies or surprises.

The one place that knows httpcore2, the transport of httpx2. What httpx2 adds on top (redirects,
cookies, environment, unbounded decompression) is what calls to untrusted servers must not have.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
import zlib
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Final, Protocol, TypeAlias
from urllib.parse import urlsplit

import httpcore2

from dagflow.core.errors import StepError
from dagflow.core.records import dataclass
from dagflow.tools.egress import Egress, Resolve

Headers: TypeAlias = tuple[tuple[str, str], ...]

MAX_BYTES: Final = 10 * 1024 * 1024
OK, REDIRECT, CLIENT_ERROR, UNAUTHORISED, TOO_MANY, SERVER_ERROR = 200, 300, 400, 401, 429, 500

KEEP_ALIVE: Final = 15.0
CONNECTIONS: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A request, whole. `url` is absolute; `content` is sent with its length."""

    method: str
    url: str
    headers: Headers = ()
    content: bytes | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """A response, whole and decompressed. Header names are in lower case."""

    status: int
    headers: Headers
    content: bytes

    def header(self, name: str) -> str | None:
        """Return the first value of a header (`name` in lower case), or None."""
        return next((value for key, value in self.headers if key == name), None)


class HttpClient(Protocol):
    """Sends requests. Safe to share between calls of one event loop."""

    async def send(
        self,
        request: Request,
        *,
        egress: Egress,
        timeout: float,  # noqa: ASYNC109  # a bound of the whole exchange, not of a wait
    ) -> Response:
        """Send once and return the whole response, whatever its status.

        The host is resolved once and dialled only at addresses that `egress` lets through.
        Raises `StepError`: timeout (all of it took longer than `timeout` seconds), network, or
        output_limit (more bytes than the client takes, compressed or not).
        """
        ...

    async def close(self) -> None:
        """Close every connection; the client can't be used after."""
        ...


class PooledClient:
    """The real client: one connection pool for each egress policy it was asked to keep."""

    def __init__(
        self, *, max_bytes: int = MAX_BYTES, resolve: Resolve | None = None, ca_file: str = ""
    ) -> None:
        self._max_bytes = max_bytes
        self._resolve = resolve or resolve_name
        self._ca_file = ca_file
        self._pools: dict[tuple[Egress, bool], httpcore2.AsyncConnectionPool] = {}

    async def send(self, request: Request, *, egress: Egress, timeout: float) -> Response:  # noqa: ASYNC109
        """Send once; see `HttpClient.send`."""
        try:
            async with asyncio.timeout(timeout):
                return await self._send(request, self._pool(egress, request.url))
        except (TimeoutError, httpcore2.TimeoutException):
            raise StepError("timeout", f"no whole answer within {timeout:g} s") from None
        except (httpcore2.NetworkError, httpcore2.ProtocolError) as error:
            words = str(error) or type(error).__name__
            unsent = isinstance(error, httpcore2.ConnectError)
            message = f"the connection failed: {words}"
            raise StepError("network", message, unsent=unsent) from None

    async def close(self) -> None:
        """Close every connection."""
        pools, self._pools = list(self._pools.values()), {}
        for pool in pools:
            await pool.aclose()

    def _pool(self, egress: Egress, url: str) -> httpcore2.AsyncConnectionPool:
        secure = url.startswith("https:")  # certificates are loaded where they are needed
        if (egress, secure) not in self._pools:
            self._pools[egress, secure] = httpcore2.AsyncConnectionPool(
                ssl_context=self._ssl_context() if secure else None,
                max_connections=CONNECTIONS,
                keepalive_expiry=KEEP_ALIVE,
                network_backend=_Guarded(egress, self._resolve),
            )
        return self._pools[egress, secure]

    def _ssl_context(self) -> ssl.SSLContext:
        context = httpcore2.default_ssl_context()
        if self._ca_file:
            context.load_verify_locations(self._ca_file)
        return context

    async def _send(self, request: Request, pool: httpcore2.AsyncConnectionPool) -> Response:
        async with _stream(pool, request) as answer:
            headers = tuple(
                (name.decode("latin-1").lower(), value.decode("latin-1"))
                for name, value in answer.headers
            )
            encoding = next((v.lower() for k, v in headers if k == "content-encoding"), "")
            content = await _read(answer.aiter_stream(), encoding, self._max_bytes)
            return Response(status=answer.status, headers=headers, content=content)


@asynccontextmanager
async def _stream(
    pool: httpcore2.AsyncConnectionPool, request: Request
) -> AsyncIterator[httpcore2.Response]:
    headers = [(name.encode("latin-1"), value.encode("utf-8")) for name, value in request.headers]
    headers.insert(0, (b"host", urlsplit(request.url).netloc.encode("ascii")))
    if request.content is not None:
        headers.append((b"content-length", str(len(request.content)).encode()))
    headers.append((b"accept-encoding", b"gzip, deflate"))
    async with pool.stream(
        request.method, _url(request.url), headers=headers, content=request.content
    ) as answer:
        yield answer


def _url(text: str) -> httpcore2.URL:
    """Take the URL apart here: httpcore2 would lose what follows a `;` in the path."""
    parts = urlsplit(text)
    target = f"{parts.path or '/'}{f'?{parts.query}' if parts.query else ''}"
    return httpcore2.URL(
        scheme=parts.scheme, host=parts.hostname or "", port=parts.port, target=target
    )


async def _read(chunks: AsyncIterator[bytes], encoding: str, limit: int) -> bytes:
    """Read a body, decompressed, and stop as soon as either form is larger than `limit`."""
    unpack = _unpacker(encoding)
    packed, found = 0, bytearray()
    async for chunk in chunks:
        packed += len(chunk)
        found += chunk if unpack is None else _unpack(unpack, chunk, limit + 1 - len(found))
        if packed > limit or len(found) > limit:
            raise StepError(
                "output_limit",
                f"the response is larger than {limit} bytes",
                remedy="ask for less, for example a page at a time",
            )
    if unpack is not None and not unpack.eof and packed:
        raise StepError("network", f"the response ended inside its {encoding} data")
    return bytes(found)


class _Unpacker(Protocol):
    @property
    def eof(self) -> bool: ...

    def decompress(self, data: bytes, max_length: int = 0, /) -> bytes: ...


def _unpacker(encoding: str) -> _Unpacker | None:
    if encoding in {"", "identity"}:
        return None
    if encoding in {"gzip", "x-gzip", "deflate"}:
        return zlib.decompressobj(wbits=47)  # gzip and zlib, told apart by their heads
    raise StepError("network", f"the response is in {encoding!r}, which was not asked for")


def _unpack(unpack: _Unpacker, chunk: bytes, room: int) -> bytes:
    try:
        return unpack.decompress(chunk, max(room, 1))
    except zlib.error as error:
        raise StepError("network", f"the response's compression is broken: {error}") from None


class _Guarded(httpcore2.AsyncNetworkBackend):
    """Dials only addresses that were checked; the URL's host stays in Host and SNI."""

    def __init__(self, egress: Egress, resolve: Resolve) -> None:
        self._egress = egress
        self._resolve = resolve
        self._inner = httpcore2.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109  # httpcore2's signature
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        addresses = await self._egress.addresses(host, port, self._resolve)
        failure: Exception | None = None
        for address in addresses:
            try:
                return await self._inner.connect_tcp(
                    address, port, timeout, local_address, socket_options
                )
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
                failure = error
        raise httpcore2.ConnectError(f"{host}:{port} can't be reached: {failure}")

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


async def resolve_name(host: str, port: int) -> tuple[str, ...]:
    """Return every address of a name, as the machine's resolver gives them.

    Raises `StepError` (network) when the name is unknown.
    """
    loop = asyncio.get_running_loop()
    try:
        found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        message = f"{host} can't be resolved: {error}"
        remedy = "check the host's name"
        raise StepError("network", message, remedy=remedy, unsent=True) from None
    return tuple(dict.fromkeys(str(entry[4][0]) for entry in found))
