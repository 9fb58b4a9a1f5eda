"""A real HTTP server on loopback that records what it is sent and answers as told."""

from __future__ import annotations

import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass(frozen=True)
class Received:
    method: str
    target: str
    headers: dict[str, str]
    body: bytes
    client: tuple[str, int]
    names: tuple[str, ...] = ()

    @property
    def path(self) -> str:
        return self.target.partition("?")[0]

    @property
    def query(self) -> str:
        return self.target.partition("?")[2]


@dataclass(frozen=True)
class Answer:
    status: int = 204
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    cut: bool = False


@dataclass
class Server:
    url: str
    port: int
    received: list[Received]
    hold: threading.Event


Reply = Callable[[Received], Answer]


@contextmanager
def serving(reply: Reply | None = None, *, tls: ssl.SSLContext | None = None) -> Iterator[Server]:
    """Serve on a free loopback port; `hold` set lets held answers go (see `held`)."""
    received: list[Received] = []
    answer = reply or (lambda _: Answer())

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def handle_any(self) -> None:
            length = int(self.headers.get("content-length") or 0)
            got = Received(
                method=self.command,
                target=self.path,
                headers={key.lower(): value for key, value in self.headers.items()},
                body=self.rfile.read(length),
                client=self.client_address,
                names=tuple(name.lower() for name in self.headers),
            )
            received.append(got)
            self._send(answer(got))

        def _send(self, made: Answer) -> None:
            self.send_response_only(made.status)
            for name, value in made.headers.items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(made.body) + (10 if made.cut else 0)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(made.body)
            if made.cut:
                self.close_connection = True

        def log_message(self, *args: object) -> None:
            pass

    for method in ("GET", "PUT", "POST", "DELETE", "PATCH", "HEAD", "OPTIONS", "TRACE"):
        setattr(Handler, f"do_{method}", Handler.handle_any)
    httpd = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    httpd.daemon_threads = True
    # a client that goes away is no news
    httpd.handle_error = lambda *_: None  # type: ignore[method-assign]
    if tls is not None:
        httpd.socket = tls.wrap_socket(httpd.socket, server_side=True)
    thread = threading.Thread(target=httpd.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    port = httpd.server_address[1]
    server = Server(f"http://127.0.0.1:{port}", port, received, threading.Event())
    try:
        yield server
    finally:
        server.hold.set()
        httpd.shutdown()
        thread.join(5)
        httpd.server_close()
