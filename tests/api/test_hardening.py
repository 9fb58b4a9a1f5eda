"""What a request may not do."""

from __future__ import annotations

import contextlib
import importlib.metadata
import json
import socket
import time

import pytest
from uvicorn.protocols.http.h11_impl import H11Protocol

from dagflow.api import reading
from dagflow.api.services import Services
from dagflow.cli.serving import server_of
from dagflow.service.runs import Runs
from tests.api.served import Client

MIB = 1024 * 1024
JSON = {"Content-Type": "application/json"}


def raw(api: Client, text: bytes) -> bytes:
    """Send bytes as they stand and return what comes back."""
    got = b""
    with socket.create_connection(("127.0.0.1", api.port), timeout=20) as connection:
        with contextlib.suppress(OSError):  # it answers before it has read all
            connection.sendall(text)
            connection.shutdown(socket.SHUT_WR)
        with contextlib.suppress(OSError):
            while chunk := connection.recv(65536):
                got += chunk
    return got


def request(api: Client, *lines: str, body: str = "") -> tuple[int, dict[str, str]]:
    """Send a request by its lines and return the status and the problem, where there is one."""
    got = raw(api, ("\r\n".join([*lines, "Connection: close", "", body])).encode("latin-1"))
    head, _, content = got.partition(b"\r\n\r\n")
    status = int(head.split()[1])
    return status, json.loads(content) if b"problem+json" in head else {}


@pytest.mark.parametrize("path", ["/", "/v1", "/v1/nothing", "/v1/runs/", "/v1/workflows/a/b"])
def test_what_is_not_there_is_a_problem(api: Client, path: str) -> None:
    assert api.get(path).code == "not-found"


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("DELETE", "/v1/runs", "GET, POST"),
        ("POST", "/v1/workflows/x", "GET, PUT"),
        ("PUT", "/v1/approvals/x", "GET, POST"),
        ("PATCH", "/health/live", "GET"),
        ("TRACE", "/v1/runs/x", "GET"),
    ],
)
def test_a_method_that_is_not_taken_is_told_the_others(
    api: Client, method: str, path: str, allowed: str
) -> None:
    answer = api.send(method, path)

    assert answer.status == 405
    assert answer.headers["allow"] == allowed


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "evil.example:8080", "127.0.0.2", "[::1", ""]
)
def test_a_foreign_host_is_turned_away(api: Client, host: str) -> None:
    status, problem = request(api, "GET /v1/runs HTTP/1.1", f"Host: {host}")

    assert (status, problem["code"]) == (421, "wrong-host")


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:1", "127.0.0.1:8080"])
def test_the_hosts_of_this_machine_are_served(api: Client, host: str) -> None:
    assert request(api, "GET /v1/runs HTTP/1.1", f"Host: {host}")[0] == 200


def test_two_hosts_are_turned_away(api: Client) -> None:
    got = raw(api, b"GET /v1/runs HTTP/1.1\r\nHost: localhost\r\nHost: evil\r\n\r\n")

    assert got.startswith(b"HTTP/1.1 400")


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://127.0.0.1.evil"])
def test_a_page_of_another_origin_can_do_nothing(api: Client, origin: str) -> None:
    run_id = api.start("waits")

    answer = api.post(f"/v1/runs/{run_id}/cancel", Origin=origin)
    preflight = api.send("OPTIONS", "/v1/runs", Origin=origin, Access_Control_Request_Method="POST")

    assert (answer.status, answer.code) == (403, "foreign-origin")
    assert preflight.status == 403
    assert api.get(f"/v1/runs/{run_id}").json["run"]["status"] == "waiting"
    assert (
        api.post(f"/v1/runs/{run_id}/cancel", Origin=f"http://localhost:{api.port}").status == 202
    )


@pytest.mark.parametrize("path", ["/v1/runs", "/v1/workflows/check"])
def test_a_body_over_its_limit_is_refused(api: Client, path: str) -> None:
    body = b'{"workflow": "' + b"x" * (8 * MIB) + b'"}'

    answer = api.send("POST", path, body, **JSON)

    assert (answer.status, answer.code) == (413, "too-large")
    assert str(8 * MIB) in answer.json["detail"]


def test_yaml_over_its_limit_is_refused(api: Client) -> None:
    assert api.send("POST", "/v1/workflows/check", b"#" * (MIB + 1)).status == 413
    assert api.send("POST", "/v1/workflows/check", b"#" * MIB).status == 200


@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b"",
        b'{"workflow": NaN}',
        b'{"workflow": "hello", "inputs": {"x": 1e400}}',
        b'{"workflow": "hello", "workflow": "waits"}',
        b'{"workflow": "hello", "inputs": {"a": {"b": 1, "b": 2}}}',
        b'{"inputs": ' + b"[" * 200_000 + b"]" * 200_000 + b"}",
        b'{"inputs": ' + b'{"a":' * 100_000,
        b'{"inputs": {"x": ' + b"9" * 5000 + b"}}",
        b'{"inputs": {"x": "\\u0000"}}',
        b'{"inputs": {"x": "\\ud800"}}',
        b'{"workflow": "\xff"}',
    ],
)
def test_json_that_is_not_strict_is_refused(api: Client, body: bytes) -> None:
    start = time.monotonic()
    answer = api.send("POST", "/v1/runs", body, **JSON)

    assert answer.status == (400 if body else 422)
    assert len(answer.json["detail"]) < 500
    assert time.monotonic() - start < 5


def test_a_body_of_another_type_is_refused(api: Client) -> None:
    body = b'{"workflow": "hello"}'

    text = api.send("POST", "/v1/runs", body, **{"Content-Type": "text/plain"})
    packed = api.send("POST", "/v1/runs", body, **JSON, Content_Encoding="gzip")
    latin = api.send("POST", "/v1/workflows/check", b"name: \xe9")

    assert (text.status, text.code) == (415, "not-json")
    assert "application/json" in text.json["remedy"]
    assert (packed.status, packed.code) == (415, "encoded-body")
    assert (latin.status, latin.code) == (400, "not-utf8")


def test_a_length_given_twice_is_refused(api: Client) -> None:
    status, problem = request(
        api, "POST /v1/runs HTTP/1.1", "Host: localhost", "Content-Type: application/json",
        "Content-Length: 2", "Transfer-Encoding: chunked", body="2\r\n{}\r\n0\r\n\r\n",
    )  # fmt: skip

    assert status == 400
    assert problem.get("code") in {"ambiguous-length", None}


def test_headers_over_their_limit_are_refused(api: Client) -> None:
    got = raw(
        api, b"GET /v1/runs HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * 1_000_000 + b"\r\n\r\n"
    )

    assert got == b"" or got.startswith(b"HTTP/1.1 4")
    assert api.get("/health/live").status == 200


def test_a_slow_body_is_given_up(api: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "PATIENCE", 0.3)
    with socket.create_connection(("127.0.0.1", api.port), timeout=20) as connection:
        connection.sendall(
            b"POST /v1/runs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{"
        )
        assert connection.recv(65536).startswith(b"HTTP/1.1 408")


@pytest.mark.parametrize(
    "path",
    ["/v1/runs/%00", "/v1/runs/%ff%fe", "/v1/runs/..%2f..%2fetc", "/v1/workflows/%00",
     "/v1/approvals/%F0%9F%98%80", "/v1/runs/" + "x" * 5000, "/v1/workflows/a/versions/'--"],
)  # fmt: skip
def test_odd_names_are_only_not_found(api: Client, path: str) -> None:
    got = raw(api, f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())

    assert got.startswith(b"HTTP/1.1 404")


def test_a_bug_is_a_problem_without_its_details(
    api: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("the password is 1234")

    monkeypatch.setattr(Runs, "list", broken)
    answer = api.get("/v1/runs")

    assert (answer.status, answer.code) == (500, "bug")
    assert b"1234" not in answer.body
    assert "ZeroDivisionError" in answer.json["detail"]
    assert answer.json["request_id"] in answer.json["remedy"]


def test_a_database_that_is_away_is_told_with_when_to_try_again(
    api: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dagflow.core.errors import UnavailableError

    def away(*_: object) -> None:
        raise UnavailableError("the database is locked", remedy="wait")

    assert api.get("/health/ready").json == {"status": "ok"}
    assert api.engine is not None
    monkeypatch.setattr(type(api.engine.store), "next_wake", away)
    answer = api.get("/health/ready")

    assert (answer.status, answer.code) == (503, "unavailable")
    assert answer.headers["retry-after"] == "1"
    assert api.get("/health/live").status == 200


def test_requests_are_read_by_a_sound_parser() -> None:
    import asyncio

    async def protocol() -> object:
        config = server_of(Services(None, None), hosts=set()).config  # type: ignore[arg-type]
        config.load()
        return config.http_protocol_class

    version = tuple(map(int, importlib.metadata.version("h11").split(".")[:2]))
    assert asyncio.run(protocol()) is H11Protocol
    assert version >= (0, 16)
