"""A response as a step's output: its class of error, or its checked body."""

from __future__ import annotations

import base64
from collections.abc import Callable
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Final, Literal, TypeAlias

from dagflow.core.errors import ErrorClass, StepError, ValueRefusedError
from dagflow.core.values import JsonObject, JsonValue, check_value, read_json
from dagflow.tools.http import CLIENT_ERROR, OK, REDIRECT, SERVER_ERROR, TOO_MANY, Response
from dagflow.tools.media import is_json, kind_of, matches
from dagflow.tools.validate import problem_of

Policy: TypeAlias = Literal["strict", "warn", "off"]
Warn: TypeAlias = Callable[[str], None]

MAX_EXCERPT: Final = 300
MAX_TYPE: Final = 80
_HIDDEN_HEADERS: Final = frozenset({"set-cookie", "set-cookie2"})


def output_of(wire: JsonObject, response: Response, *, policy: Policy, warn: Warn) -> JsonObject:
    """Return `{status, headers, body}` of a successful response.

    Raises `StepError`: http_4xx (redirects too: they aren't followed), rate_limited, http_5xx,
    and schema when the response isn't what the document promises, unless `policy` is "warn"
    (which tells `warn`) or "off".
    """
    _check_status(response)
    declared = _declared(wire, response.status)
    try:
        body = _body(declared, response)
        problem = _problem(wire, declared, body)
    except _UnexpectedError as error:
        body, problem = _as_it_is(response), str(error)
    if problem and policy == "strict":
        raise StepError(
            "schema",
            f"the {response.status} response {problem}",
            remedy="have the document mended, or set the tool's `responses: warn`",
        )
    if problem and policy == "warn":
        warn(f"the {response.status} response {problem}")
    return {"status": response.status, "headers": _headers(response), "body": body}


class _UnexpectedError(Exception):
    """The response can't be read as the document says."""


def _check_status(response: Response) -> None:
    status = response.status
    if OK <= status < REDIRECT:
        return
    error_class: ErrorClass = (
        "rate_limited"
        if status == TOO_MANY
        else "http_5xx"
        if status >= SERVER_ERROR
        else "http_4xx"
    )
    raise StepError(
        error_class,
        f"the server answered {status}{_why(response)}",
        retry_after=retry_after(response),
    )


def _why(response: Response) -> str:
    if REDIRECT <= response.status < CLIENT_ERROR:
        location = response.header("location") or "nowhere"
        return f", a redirect to {_excerpt(location)!r}, not followed"
    text = response.content[: MAX_EXCERPT * 4].decode("utf-8", "replace")
    words = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return f": {_excerpt(words)}" if words else ""


def _excerpt(text: str, most: int = MAX_EXCERPT) -> str:
    """Return the beginning of a text; the mark shows where it was cut, also to what masks it."""
    return text if len(text) <= most else f"{text[:most]}…"


def retry_after(response: Response, now: datetime | None = None) -> float | None:
    """Return the seconds that `Retry-After` asks to wait, given as seconds or as a date.

    A date is measured from the response's own `Date` where it has one, else from `now`.
    """
    text = response.header("retry-after")
    if text is None:
        return None
    if text.strip().isdecimal():
        return float(text)
    until, sent = _date(text), _date(response.header("date") or "")
    if until is None:
        return None
    return max(0.0, (until - (sent or now or datetime.now(UTC))).total_seconds())


def _date(text: str) -> datetime | None:
    try:
        found = parsedate_to_datetime(text)
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def _declared(wire: JsonObject, status: int) -> JsonObject | None:
    """Return what the document says of a status: the exact one, else the range 2XX."""
    responses = wire["responses"]
    assert isinstance(responses, dict)
    found = responses.get(str(status), responses.get("2XX"))
    return found if isinstance(found, dict) else None


def _body(declared: JsonObject | None, response: Response) -> JsonValue:
    if declared is None:
        raise _UnexpectedError("has a status that the document does not declare")
    kind, media_type = str(declared["kind"]), str(declared["media_type"])
    if kind == "none":
        return None
    if kind == "any":
        return _as_it_is(response)
    actual = response.header("content-type")
    if actual is not None and not matches(media_type, actual):
        raise _UnexpectedError(f"is {_excerpt(actual, MAX_TYPE)!r}, not {media_type}")
    return _READERS[kind](response)


def _read_json(response: Response) -> JsonValue:
    if not response.content:
        raise _UnexpectedError("has no body, where JSON was promised")
    try:
        return read_json(response.content)
    except ValueRefusedError as error:
        raise _UnexpectedError(f"can't be carried: {error.reason} (at {error.at})") from None


def _read_text(response: Response) -> JsonValue:
    try:
        text = response.content.decode(_charset(response))
        check_value(text)
    except (UnicodeDecodeError, LookupError):
        raise _UnexpectedError(f"is not text in {_charset(response)}") from None
    except ValueRefusedError as error:
        raise _UnexpectedError(f"can't be carried: {error.reason}") from None
    return text


def _read_bytes(response: Response) -> JsonValue:
    return base64.b64encode(response.content).decode()


_READERS: Final[dict[str, Callable[[Response], JsonValue]]] = {
    "json": _read_json,
    "text": _read_text,
    "bytes": _read_bytes,
}


def _charset(response: Response) -> str:
    _, _, rest = (response.header("content-type") or "").lower().partition("charset=")
    return rest.partition(";")[0].strip(" \"'") or "utf-8"


def _as_it_is(response: Response) -> JsonValue:
    """Read a body by what the server says it is; bytes where that doesn't work out."""
    if not response.content:
        return None
    media_type = response.header("content-type") or "application/octet-stream"
    try:
        if is_json(media_type):
            return _read_json(response)
        return _read_text(response) if kind_of(media_type) == "text" else _read_bytes(response)
    except _UnexpectedError:
        return _read_bytes(response)


def _problem(wire: JsonObject, declared: JsonObject | None, body: JsonValue) -> str | None:
    if declared is None or declared["kind"] != "json":
        return None
    schema = declared["schema"]
    if not isinstance(schema, dict):
        return "may have no body" if schema is False else None
    definitions = wire.get("definitions")
    problem = problem_of(schema, body, definitions if isinstance(definitions, dict) else None)
    return f"breaks its schema: {problem}" if problem else None


def _headers(response: Response) -> JsonObject:
    found: dict[str, list[str]] = {}
    for name, value in response.headers:
        if name not in _HIDDEN_HEADERS:
            found.setdefault(name, []).append(value)
    return {name: ", ".join(values) for name, values in found.items()}
