"""Serves one model over HTTP: what `dagflow llm` and `python -m dagflow.llm` run."""

from __future__ import annotations

import errno
import ipaddress
import json
import os
import socket
import sys
import threading
import time
from collections.abc import Callable
from typing import IO, TYPE_CHECKING, Final

from dagflow.core.errors import UsageError
from dagflow.llm.installed import (
    DEFAULT_MODEL,
    cache_folder,
    check_libraries,
    model_file,
    model_id,
)

if TYPE_CHECKING:
    from dagflow.llm.models.weights import Precision

DEFAULT_PORT: Final = 8081
LAST_SECONDS: Final = 2
"""How long running answers may go on after SIGTERM."""


def serve(
    *,
    host: str = "127.0.0.1",
    port: int = DEFAULT_PORT,
    model: str = DEFAULT_MODEL,
    precision: Precision = "auto",
    api_key: str = "",
    threads: int = 0,
    queue: int = 64,
    announce: bool = False,
    leash: IO[bytes] | None = None,
) -> None:
    """Load the model and answer until SIGINT or SIGTERM; one line on stderr says when it's ready.

    `model` is a name of `installed.MODELS` or a GGUF file. `port` 0 takes a free one. With
    `announce`, a line of JSON on stdout tells it. When `leash` (a pipe from whoever started
    this) ends, the process ends. Raises `UsageError` with a remedy for a port in use, a model or
    library that is missing, and a host that would serve the network without a key.
    """
    began = time.monotonic()
    if leash is not None:
        threading.Thread(target=_end_with, args=(leash,), daemon=True).start()
    _check_exposure(host, api_key)
    check_libraries()
    path = model_file(model)
    # read when torch loads: threads that spin while they wait cost a busy machine tenfold
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    # bound before the model loads: a port in use is told at once
    with _bound(host, port) as listener:
        from dagflow.llm.app import build_app
        from dagflow.llm.load import load_engine

        engine = load_engine(
            path, cache_folder(), precision=precision, threads=threads, queue=queue
        )
        app = build_app(engine, model_id(model), api_key=api_key)
        ready = _Ready(listener, model_id(model), began, announce=announce)
        _answer(app, listener, ready)


def _end_with(leash: IO[bytes]) -> None:
    # past the buffer, whose lock a thread that waits would hold while the interpreter ends
    while os.read(leash.fileno(), 4096):
        pass
    # whoever wanted the answers is gone: there is nothing to finish
    os._exit(0)


def _check_exposure(host: str, api_key: str) -> None:
    if not api_key and not _is_loopback(host):
        raise UsageError(
            f"refusing to serve a model on {host!r} without an API key",
            remedy="set DAGFLOW_LLM_KEY, or bind to 127.0.0.1",
        )


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _bound(host: str, port: int) -> socket.socket:
    listener = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except (OSError, OverflowError) as error:
        listener.close()
        if isinstance(error, OSError) and error.errno == errno.EADDRINUSE:
            raise UsageError(
                f"port {port} on {host} is in use", remedy="name another with --port"
            ) from error
        raise UsageError(f"can't listen on {host}:{port}: {error}") from error
    return listener


class _Ready:
    """Says once that the server answers, and where."""

    def __init__(
        self, listener: socket.socket, model: str, began: float, *, announce: bool
    ) -> None:
        host, port = listener.getsockname()[:2]
        self._url = f"http://{f'[{host}]' if ':' in host else host}:{port}/v1"
        self._model = model
        self._began = began
        self._announce = announce

    def __call__(self) -> None:
        seconds = time.monotonic() - self._began
        print(f"{self._model} is ready on {self._url} after {seconds:.1f} s", file=sys.stderr)  # noqa: T201  # the readiness line
        if self._announce:
            line = json.dumps({"url": self._url, "model": self._model})
            print(line, flush=True)  # noqa: T201  # the parent reads it


def _answer(app: object, listener: socket.socket, ready: Callable[[], None]) -> None:
    import uvicorn

    class Server(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            if self.started:
                ready()

    config = uvicorn.Config(
        app,  # type: ignore[arg-type]  # an ASGI application
        lifespan="off",
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=LAST_SECONDS,
    )
    try:
        Server(config).run(sockets=[listener])
    except KeyboardInterrupt:
        # uvicorn has shut down in order and raises the signal again
        return
