"""Calls over a real connection: requests as sent, responses as read, errors by class."""

from __future__ import annotations

import asyncio
import base64
import gzip
import json
import re
import time
import zlib
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from dagflow.core.errors import StepError
from dagflow.tools.call import call
from dagflow.tools.egress import Egress
from tests.contract.tool_calls import (
    KEY,
    LOOPBACK,
    called,
    compiled,
    parameter,
    query_operation,
    with_client,
)
from tests.contract.tool_server import Answer, Received, serving

BIG = 7615917337495251231


def body(media_type: str, schema: Any, **more: Any) -> dict[str, Any]:
    media = {"schema": schema, **more}
    return {"requestBody": {"required": True, "content": {media_type: media}}}


def answering(
    schema: Any, media_type: str = "application/json", code: str = "200"
) -> dict[str, Any]:
    return {"responses": {code: {"content": {media_type: {"schema": schema}}}}}


def as_json(value: Any, status: int = 200, **headers: str) -> Answer:
    text = json.dumps(value).encode()
    return Answer(status, text, {"content-type": "application/json", **headers})


def failing(operation: Any, arguments: Any = None, **options: Any) -> StepError:
    with pytest.raises(StepError) as caught:
        called(operation, arguments, **options)
    return caught.value


def test_the_base_path_is_kept_and_the_output_is_status_headers_and_body() -> None:
    with serving(lambda _: as_json({"id": "5"}, **{"x-left": "9", "set-cookie": "a=b"})) as server:
        operation = compiled(
            {
                "parameters": [parameter("id", {"type": "string"}, "path", required=True)],
                **answering({"type": "object"}),
            },
            f"{server.url}/v2/",
            path="/users/{id}",
        )

        output = called(operation, {"path": {"id": "5"}})

    assert server.received[0].target == "/v2/users/5"
    assert output["status"] == 200
    assert output["body"] == {"id": "5"}
    assert output["headers"]["x-left"] == "9"
    assert "set-cookie" not in output["headers"]


def test_large_integers_keep_their_digits_on_the_wire_and_back() -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}

    def echo(got: Received) -> Answer:
        return Answer(200, got.body, {"content-type": "application/json"})

    with serving(echo) as server:
        operation = compiled(
            {
                "parameters": [parameter("q", {"type": "integer"})],
                **body("application/json", schema),
                **answering(schema),
            },
            server.url,
            method="post",
        )

        output = called(operation, {"query": {"q": BIG}, "body": {"n": BIG}})

    assert server.received[0].query == f"q={BIG}"
    assert server.received[0].body == f'{{"n":{BIG}}}'.encode()
    assert output["body"] == {"n": BIG}
    assert type(output["body"]["n"]) is int


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b'{"a": 99999999999999999999}', "64-bit"),
        (b'{"a": 1, "a": 2}', "twice"),
        (b'{"a": NaN}', "NaN"),
        (b'"\\u0000"', "U+0000"),
        (b"[" * 100 + b"]" * 100, "nested deeper"),
        (b"{", "not JSON"),
        (b"", "no body"),
    ],
)
def test_json_that_can_not_be_carried_exactly_is_a_schema_error(text: bytes, words: str) -> None:
    reply = Answer(200, text, {"content-type": "application/json"})
    with serving(lambda _: reply) as server:
        error = failing(compiled(answering({}), server.url))

    assert error.error_class == "schema"
    assert words in error.message


@pytest.mark.parametrize(
    ("answer", "error_class", "retry_after"),
    [
        (Answer(400, b'{"detail": "no such thing"}'), "http_4xx", None),
        (Answer(404), "http_4xx", None),
        (Answer(429, headers={"retry-after": "7"}), "rate_limited", 7.0),
        (Answer(429), "rate_limited", None),
        (
            Answer(
                429,
                headers={
                    "retry-after": "Wed, 21 Oct 2065 07:28:30 GMT",
                    "date": "Wed, 21 Oct 2065 07:28:00 GMT",
                },
            ),
            "rate_limited",
            30.0,
        ),
        (Answer(429, headers={"retry-after": "soon"}), "rate_limited", None),
        (Answer(500), "http_5xx", None),
        (Answer(503, headers={"retry-after": "3"}), "http_5xx", 3.0),
        (Answer(302, headers={"location": "http://169.254.169.254/"}), "http_4xx", None),
    ],
)
def test_statuses_become_classes(
    answer: Answer, error_class: str, retry_after: float | None
) -> None:
    with serving(lambda _: answer) as server:
        error = failing(compiled({}, server.url))

    assert error.error_class == error_class
    assert f"the server answered {answer.status}" in error.message
    assert error.retry_after == retry_after
    assert len(server.received) == 1  # redirects aren't followed, nothing is retried here


def test_an_error_says_which_operation_which_server_and_what_the_server_said() -> None:
    reply = Answer(404, b'{"detail": "no\\u0007 ticket"}\x1b[31m')
    with serving(lambda _: reply) as server:
        error = failing(compiled({}, server.url))

    assert error.message == (
        f'GET /x at {server.url}: the server answered 404: {{"detail": "no\\u0007 ticket"}} [31m'
    )


def test_arguments_that_do_not_fit_are_refused_before_anything_is_sent() -> None:
    with serving() as server:
        operation = query_operation(
            server.url, parameter("limit", {"type": "integer", "maximum": 9})
        )

        error = failing(operation, {"query": {"limit": 10}})
        unknown = failing(operation, {"query": {"limits": 1}})

    assert server.received == []
    assert error.error_class == unknown.error_class == "schema"
    assert error.message.endswith("the arguments don't fit: /query/limit breaks maximum 9")
    assert "'limits'" in unknown.message


PET = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}


def test_a_response_that_breaks_its_schema_is_an_error_with_its_place_by_default() -> None:
    with serving(lambda _: as_json({"name": 5})) as server:
        error = failing(compiled(answering(PET), server.url))

    assert error.error_class == "schema"
    assert "breaks its schema: /name is not of type string" in error.message


@pytest.mark.parametrize(("policy", "warned"), [("warn", 1), ("off", 0)])
def test_a_response_that_breaks_its_schema_passes_where_the_author_said_so(
    policy: str, warned: int
) -> None:
    words: list[str] = []
    with serving(lambda _: as_json({"name": 5})) as server:
        output = called(compiled(answering(PET), server.url), responses=policy, warn=words.append)

    assert output["body"] == {"name": 5}
    assert len(words) == warned


def _answering(status: int, value: Any, _request: Received) -> Answer:
    return as_json(value, status)


def test_each_status_is_checked_by_its_own_schema() -> None:
    responses = {
        "200": {"content": {"application/json": {"schema": {"type": "string"}}}},
        "2XX": {"content": {"application/json": {"schema": {"type": "integer"}}}},
        "default": {"content": {"application/json": {"schema": {"type": "boolean"}}}},
    }
    for status, value, fits in (
        (200, "a", True),
        (200, 1, False),
        (202, 1, True),
        (202, "a", False),
    ):
        with serving(partial(_answering, status, value)) as server:
            operation = compiled({"responses": responses}, server.url)
            if fits:
                assert called(operation)["body"] == value
            else:
                assert failing(operation).error_class == "schema"


def test_a_status_that_is_not_declared_is_a_schema_error() -> None:
    with serving(lambda _: as_json("a", 202)) as server:
        error = failing(compiled(answering({}), server.url))

    assert "status that the document does not declare" in error.message


@pytest.mark.parametrize(
    ("promised", "sent", "content", "expected"),
    [
        ("text/plain", "text/plain; charset=latin-1", b"caf\xe9", "café"),
        ("application/xml", "application/xml", b"<a/>", "<a/>"),
        ("application/pdf", "application/pdf", b"\x00\xff", base64.b64encode(b"\x00\xff").decode()),
        ("application/json", "application/problem+json", b"1", 1),
        ("application/hal+json", "application/json; charset=utf-8", b"[]", []),
        ("image/*", "image/png", b"a", "YQ=="),
    ],
)
def test_bodies_are_read_by_their_media_type(
    promised: str, sent: str, content: bytes, expected: Any
) -> None:
    with serving(lambda _: Answer(200, content, {"content-type": sent})) as server:
        operation = compiled(answering({}, promised), server.url)

        assert called(operation)["body"] == expected
    assert server.received[0].headers["accept"] == promised


def test_another_media_type_than_promised_is_a_schema_error() -> None:
    reply = Answer(200, b"<html>sign in</html>", {"content-type": "text/html"})
    with serving(lambda _: reply) as server:
        error = failing(compiled(answering({}), server.url))

    assert error.error_class == "schema"
    assert "is 'text/html', not application/json" in error.message


@pytest.mark.parametrize(("method", "status"), [("head", 200), ("get", 204), ("delete", 200)])
def test_a_response_without_a_body_is_null(method: str, status: int) -> None:
    with serving(lambda _: Answer(status)) as server:
        operation = compiled({"responses": {str(status): {}}}, server.url, method=method)

        assert called(operation)["body"] is None


# --- bodies -------------------------------------------------------------------------------------


def sent(declared: dict[str, Any], value: Any) -> Received:
    with serving() as server:
        called(compiled(declared, server.url, method="post"), {"body": value})
    return server.received[0]


def test_a_urlencoded_body_is_written_field_by_field() -> None:
    schema = {
        "type": "object",
        "properties": {
            "a": {"type": "string"},
            "n": {"type": "integer"},
            "many": {"type": "array", "items": {}},
            "card": {"type": "object", "properties": {"no": {"type": "string"}}},
            "flat": {"type": "array", "items": {"type": "string"}},
            "none": {"type": ["string", "null"]},
        },
    }
    encoding = {"card": {"style": "deepObject", "explode": True}, "flat": {"explode": False}}
    declared = body("application/x-www-form-urlencoded", schema, encoding=encoding)

    got = sent(
        declared,
        {
            "a": "x y&z=%",
            "n": 5,
            "many": [1, True],
            "card": {"no": "42"},
            "flat": ["p", "q"],
            "none": None,
        },
    )

    assert got.headers["content-type"] == "application/x-www-form-urlencoded"
    assert got.body == b"a=x+y%26z%3D%25&n=5&many=1&many=true&card%5Bno%5D=42&flat=p,q"


def test_a_multipart_body_is_parts_and_not_json() -> None:
    schema = {
        "type": "object",
        "properties": {
            "title": {"type": "string"},
            "tags": {"type": "array", "items": {"type": "string"}},
            "meta": {"type": "object"},
            "file": {"type": "string", "format": "binary"},
            "none": {"type": ["string", "null"]},
        },
    }
    content = bytes(range(256))

    got = sent(
        body("multipart/form-data", schema),
        {
            "title": "ä",
            "tags": ["a", "b"],
            "meta": {"k": BIG},
            "file": base64.b64encode(content).decode(),
            "none": None,
        },
    )

    boundary = re.fullmatch(r"multipart/form-data; boundary=(\S+)", got.headers["content-type"])
    assert boundary is not None
    parts = got.body.split(f"--{boundary[1]}".encode())
    assert parts[0] == b""
    assert parts[-1] == b"--\r\n"
    assert parts[1] == b'\r\nContent-Disposition: form-data; name="title"\r\n\r\n\xc3\xa4\r\n'
    assert [part.rpartition(b"\r\n\r\n")[2] for part in parts[2:4]] == [b"a\r\n", b"b\r\n"]
    assert b"Content-Type: application/json" in parts[4]
    assert parts[4].endswith(f'{{"k":{BIG}}}\r\n'.encode())
    assert b'name="file"; filename="file"\r\nContent-Type: application/octet-stream' in parts[5]
    assert parts[5].partition(b"\r\n\r\n")[2] == content + b"\r\n"


def test_bytes_and_text_bodies_go_as_they_are() -> None:
    raw = sent(body("application/octet-stream", {}), "AAH/")
    text = sent(body("text/plain", {}), "grüß")
    xml = sent(body("application/xml", {"type": "object"}), "<a>&amp;</a>")

    assert (raw.body, raw.headers["content-type"]) == (b"\0\x01\xff", "application/octet-stream")
    assert text.body == "grüß".encode()
    assert text.headers["content-type"] == "text/plain; charset=utf-8"
    assert (xml.body, xml.headers["content-type"][:15]) == (b"<a>&amp;</a>", "application/xml")


def test_bytes_that_are_not_base64_are_refused() -> None:
    with serving() as server:
        declared = body("application/octet-stream", {})
        error = failing(compiled(declared, server.url, method="post"), {"body": "*"})

    assert error.error_class == "schema"
    assert server.received == []


def test_json_is_preferred_and_an_optional_body_may_be_left_out() -> None:
    content: dict[str, Any] = {
        "text/plain": {},
        "application/x-www-form-urlencoded": {},
        "application/json": {},
    }
    with serving() as server:
        operation = compiled({"requestBody": {"content": content}}, server.url, method="post")
        called(operation, {"body": [1]})
        called(operation)

    first, second = server.received
    assert (first.headers["content-type"], first.body) == ("application/json", b"[1]")
    assert "content-type" not in second.headers
    assert second.headers["content-length"] == "0"


# --- credentials --------------------------------------------------------------------------------

SCHEMES = {
    "head": {"type": "apiKey", "in": "header", "name": "X-Key"},
    "query": {"type": "apiKey", "in": "query", "name": "api key"},
    "cookie": {"type": "apiKey", "in": "cookie", "name": "sid"},
    "basic": {"type": "http", "scheme": "Basic"},
    "bearer": {"type": "http", "scheme": "bearer"},
    "implicit": {
        "type": "oauth2",
        "flows": {"implicit": {"authorizationUrl": "https://a", "scopes": {}}},
    },
}


def secured(url: str, security: Any, root: Any = None, **schemes: Any) -> Any:
    more = {} if root is None else {"security": root}
    return compiled(
        {} if security is None else {"security": security},
        url,
        components={"securitySchemes": {**SCHEMES, **schemes}},
        **more,
    )


def credentials(got: Received) -> dict[str, str]:
    names = ("authorization", "x-key", "cookie")
    found = {name: got.headers[name] for name in names if name in got.headers}
    return {**found, **({"query": got.query} if got.query else {})}


@pytest.mark.parametrize(
    ("security", "auth", "expected"),
    [
        ([{"head": []}], {"head": "TOKEN"}, {"x-key": "s3cret"}),
        ([{"query": []}], {"query": "PAIR"}, {"query": "api%20key=ann%3Apass%20word"}),
        ([{"cookie": []}], {"cookie": "TOKEN"}, {"cookie": "sid=s3cret"}),
        ([{"basic": []}], {"basic": "PAIR"}, {"authorization": "Basic YW5uOnBhc3Mgd29yZA=="}),
        ([{"bearer": []}], {"bearer": "TOKEN"}, {"authorization": "Bearer s3cret"}),
        ([{"implicit": ["a"]}], {"implicit": "TOKEN"}, {"authorization": "Bearer s3cret"}),
        (
            [{"head": [], "cookie": []}],
            {"head": "TOKEN", "cookie": "TOKEN"},
            {"x-key": "s3cret", "cookie": "sid=s3cret"},
        ),
        ([{"basic": []}, {"head": []}], {"head": "TOKEN"}, {"x-key": "s3cret"}),
        ([{"head": []}, {}], {}, {}),
        ([{"head": []}, {}], {"head": "TOKEN"}, {"x-key": "s3cret"}),
        ([], {"head": "TOKEN"}, {}),
        ([{}], {"head": "TOKEN"}, {}),
    ],
)
def test_only_the_credentials_that_the_operation_asks_for_are_sent(
    security: Any, auth: dict[str, str], expected: dict[str, str]
) -> None:
    with serving() as server:
        called(secured(server.url, security, root=[{"bearer": []}]), auth=auth)

    assert credentials(server.received[0]) == expected


def test_an_operation_without_its_own_list_takes_the_documents() -> None:
    with serving() as server:
        called(secured(server.url, None, root=[{"head": []}]), auth={"head": "TOKEN"})

    assert credentials(server.received[0]) == {"x-key": "s3cret"}


def test_missing_credentials_are_said_before_anything_is_sent() -> None:
    with serving() as server:
        error = failing(secured(server.url, [{"head": [], "cookie": []}, {"bearer": []}]))

    assert server.received == []
    assert "head with cookie or bearer" in error.message
    assert "secrets.NAME" in error.remedy


def test_an_argument_can_not_take_the_place_of_a_credential() -> None:
    with serving() as server:
        operation = compiled(
            {
                "parameters": [
                    parameter("x-key", {}, "header"),
                    parameter("Authorization", {}, "header"),
                ],
                "security": [{"head": []}],
            },
            server.url,
            components={"securitySchemes": SCHEMES},
        )
        called(operation, {"header": {"x-key": "mine"}}, auth={"head": "TOKEN"})

    assert server.received[0].headers["x-key"] == "s3cret"
    assert server.received[0].names.count("x-key") == 1
    assert "Authorization" not in str(operation.arguments)


def test_no_error_holds_a_secret() -> None:
    with serving(lambda _: Answer(500)) as server:
        error = failing(secured(server.url, [{"query": []}]), auth={"query": "TOKEN"})

    assert "s3cret" in server.received[0].query
    assert "s3cret" not in f"{error.message} {error.remedy} {error!r} {error.__cause__!r}"


class TokenServer:
    """Grants tokens t1, t2, …; `refuse` are tokens that the API no longer takes."""

    def __init__(self, life: int = 3600) -> None:
        self.life = life
        self.granted: list[Received] = []
        self.refuse: set[str] = set()

    def __call__(self, got: Received) -> Answer:
        if got.path == "/token":
            self.granted.append(got)
            return as_json({"access_token": f"t{len(self.granted)}", "expires_in": self.life})
        token = got.headers.get("authorization", "").removeprefix("Bearer ")
        return Answer(401 if token in self.refuse else 204)


def oauth(url: str) -> Any:
    flow = {"tokenUrl": f"{url}/token", "scopes": {"a": "", "b": ""}}
    scheme = {"type": "oauth2", "flows": {"clientCredentials": flow}}
    return secured(url, [{"own": ["a", "b"]}], own=scheme)


def many(operation: Any, times: int) -> list[Any]:
    async def use(http: Any) -> list[Any]:
        one = {
            "http": http,
            "secrets": lambda _: "ann:pass word",
            "auth": {"own": "PAIR"},
            "timeout": 5.0,
            "idempotency_key": KEY,
            "egress": LOOPBACK,
        }
        return await asyncio.gather(*(call(operation.wire, {}, **one) for _ in range(times)))

    return with_client(use)


def test_client_credentials_get_one_token_for_many_calls() -> None:
    tokens = TokenServer()
    with serving(tokens) as server:
        many(oauth(server.url), 5)

    assert len(tokens.granted) == 1
    asked = tokens.granted[0]
    assert asked.body == b"grant_type=client_credentials&scope=a+b"
    assert (
        asked.headers["authorization"] == "Basic " + base64.b64encode(b"ann:pass%20word").decode()
    )
    used = {got.headers["authorization"] for got in server.received if got.path == "/x"}
    assert used == {"Bearer t1"}


def test_a_refused_token_is_replaced_once() -> None:
    tokens = TokenServer()
    tokens.refuse = {"t1"}
    with serving(tokens) as server:
        output = many(oauth(server.url), 1)[0]
        tokens.refuse = {f"t{n}" for n in range(10)}
        with pytest.raises(StepError, match="401"):
            many(oauth(server.url), 1)

    assert output["status"] == 204
    assert len(tokens.granted) == 4


def test_a_token_about_to_expire_is_not_used_again() -> None:
    tokens = TokenServer(life=10)
    with serving(tokens) as server:
        many(oauth(server.url), 3)

    assert len(tokens.granted) == 3


# --- idempotency --------------------------------------------------------------------------------


def test_a_declared_key_header_is_filled_in_and_makes_a_post_idempotent() -> None:
    with serving() as server:
        declared = {"parameters": [parameter("Idempotency-Key", {}, "header", required=True)]}
        operation = compiled(declared, server.url, method="post")
        called(operation)
        called(operation, {"header": {"Idempotency-Key": "mine"}})

    assert operation.effects == "idempotent"
    assert [got.headers["idempotency-key"] for got in server.received] == [KEY, "mine"]


def test_the_extension_names_the_header() -> None:
    with serving() as server:
        operation = compiled({"x-dagflow-idempotency-key": "X-Once"}, server.url, method="post")
        called(operation)

    assert operation.effects == "idempotent"
    assert server.received[0].headers["x-once"] == KEY


def test_without_a_declaration_no_key_is_sent() -> None:
    with serving() as server:
        operation = compiled({}, server.url, method="post")
        called(operation)

    assert operation.effects == "once"
    assert KEY not in str(server.received[0].headers)


# --- the connection -----------------------------------------------------------------------------


def test_a_server_that_is_down_is_a_network_error() -> None:
    with serving() as server:
        operation = compiled({}, server.url)

    assert failing(operation).error_class == "network"


def test_a_response_that_breaks_off_is_a_network_error() -> None:
    reply = Answer(200, b"half", {"content-type": "text/plain"}, cut=True)
    with serving(lambda _: reply) as server:
        error = failing(compiled(answering({}, "text/plain"), server.url))

    assert error.error_class == "network"


def test_a_slow_server_is_a_timeout_within_the_time_given() -> None:
    with serving(lambda _: Answer(204 if server.hold.wait(10) else 500)) as server:
        began = time.monotonic()
        error = failing(compiled({}, server.url), timeout=0.2)
        took = time.monotonic() - began

    assert error.error_class == "timeout"
    assert took < 3


@pytest.mark.parametrize("encoding", ["gzip", "deflate", ""])
def test_compressed_bodies_are_read(encoding: str) -> None:
    packs: dict[str, Callable[[bytes], bytes]] = {
        "gzip": gzip.compress, "deflate": zlib.compress, "": bytes
    }  # fmt: skip
    pack = packs[encoding]
    content = json.dumps(["x" * 100_000, 1]).encode()
    headers = {"content-type": "application/json"}
    if encoding:
        headers["content-encoding"] = encoding
    with serving(lambda _: Answer(200, pack(content), headers)) as server:
        assert called(compiled(answering({}), server.url))["body"] == ["x" * 100_000, 1]


@pytest.mark.parametrize("packed", [True, False])
def test_a_response_larger_than_the_cap_is_refused_also_when_it_was_small_on_the_wire(
    packed: bool,
) -> None:
    content = b" " * 5_000_000
    headers = {
        "content-type": "application/json",
        **({"content-encoding": "gzip"} if packed else {}),
    }
    reply = Answer(200, gzip.compress(content) if packed else content, headers)
    with serving(lambda _: reply) as server:
        error = failing(compiled(answering({}), server.url), client={"max_bytes": 1_000_000})

    assert error.error_class == "output_limit"
    assert "1000000 bytes" in error.message


@pytest.mark.parametrize(
    ("content", "encoding"),
    [(gzip.compress(b"[1]" * 1000)[:-9], "gzip"), (b"not gzip", "gzip"), (b"x", "br")],
    ids=["cut off", "not gzip", "not asked for"],
)
def test_broken_or_unasked_compression_is_a_network_error(content: bytes, encoding: str) -> None:
    headers = {"content-type": "application/json", "content-encoding": encoding}
    with serving(lambda _: Answer(200, content, headers)) as server:
        assert failing(compiled(answering({}), server.url)).error_class == "network"


def test_connections_are_kept_and_used_again() -> None:
    with serving() as server:
        operation = compiled({}, server.url)

        async def use(http: Any) -> None:
            for _ in range(3):
                await call(
                    operation.wire,
                    {},
                    http=http,
                    secrets=str,
                    auth={},
                    timeout=5.0,
                    idempotency_key=KEY,
                    egress=LOOPBACK,
                )

        with_client(use)

    assert len({got.client for got in server.received}) == 1


def test_proxies_of_the_environment_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    with serving() as server:
        assert called(compiled({}, server.url))["status"] == 204


def test_loopback_is_refused_unless_the_policy_lets_it() -> None:
    with serving() as server:
        error = failing(compiled({}, server.url), egress=Egress())

    assert server.received == []
    assert (error.error_class, "loopback" in error.message) == ("network", True)
    assert f"127.0.0.1:{server.port}" in error.remedy
