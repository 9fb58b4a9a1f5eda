"""OAuth 2 client credentials: tokens fetched once, kept until shortly before they expire."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Mapping
from typing import Final, TypeAlias
from urllib.parse import quote, urlencode, urljoin
from weakref import WeakKeyDictionary

from dagflow.core.errors import ErrorClass, StepError, ValueRefusedError
from dagflow.core.records import dataclass
from dagflow.core.values import JsonObject, JsonValue, read_json
from dagflow.tools.egress import Egress
from dagflow.tools.http import OK, SERVER_ERROR, HttpClient, Request

EARLY: Final = 30.0
DEFAULT_LIFE: Final = 300.0
_Key: TypeAlias = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class _Token:
    text: str
    until: float


class Tokens:
    """Tokens by token URL, client and scopes; of many callers that need one, one fetches it."""

    def __init__(self, http: HttpClient) -> None:
        self._http = http
        self._kept: dict[_Key, _Token] = {}
        self._locks: dict[_Key, asyncio.Lock] = {}

    async def get(
        self,
        scheme: JsonObject,
        secret: str,
        *,
        server: str,
        egress: Egress,
        timeout: float,  # noqa: ASYNC109
    ) -> str:
        """Return a token that is good for a while yet; times in seconds.

        `secret` is `client_id:client_secret`. Raises `StepError` when none can be had.
        """
        key = _key(scheme, secret, server)
        async with self._locks.setdefault(key, asyncio.Lock()):
            now = asyncio.get_running_loop().time()
            kept = self._kept.get(key)
            if kept is None or kept.until <= now:
                kept = await self._fetch(key, secret, egress, timeout, now)
                self._kept[key] = kept
            return kept.text

    def forget(self, scheme: JsonObject, secret: str, *, server: str, token: str) -> None:
        """Drop a token that a server refused, unless a newer one has replaced it."""
        key = _key(scheme, secret, server)
        kept = self._kept.get(key)
        if kept is not None and kept.text == token:
            del self._kept[key]

    async def _fetch(
        self,
        key: _Key,
        secret: str,
        egress: Egress,
        timeout: float,  # noqa: ASYNC109  # passed on to the client
        now: float,
    ) -> _Token:
        url, _, scopes = key
        fields = {"grant_type": "client_credentials", **({"scope": scopes} if scopes else {})}
        request = Request(
            method="POST",
            url=url,
            headers=(
                ("Authorization", f"Basic {_basic(secret)}"),
                ("Content-Type", "application/x-www-form-urlencoded"),
                ("Accept", "application/json"),
            ),
            content=urlencode(fields).encode(),
        )
        response = await self._http.send(request, egress=egress, timeout=timeout)
        if response.status != OK:
            error_class: ErrorClass = "http_5xx" if response.status >= SERVER_ERROR else "http_4xx"
            raise StepError(
                error_class,
                f"the token server answered {response.status}",
                remedy="check the client's id and secret",
            )
        return _token(response.content, now)


def _key(scheme: JsonObject, secret: str, server: str) -> _Key:
    scopes = scheme["scopes"]
    words = " ".join(str(scope) for scope in scopes) if isinstance(scopes, list) else ""
    return urljoin(f"{server}/", str(scheme["token_url"])), secret, words


def _basic(secret: str) -> str:
    client, colon, password = secret.partition(":")
    if not colon:
        raise StepError(
            "http_4xx",
            "the secret for client credentials has no colon",
            remedy="store it as client_id:client_secret",
        )
    return base64.b64encode(
        f"{quote(client, safe='')}:{quote(password, safe='')}".encode()
    ).decode()


def _token(content: bytes, now: float) -> _Token:
    try:
        answer = read_json(content)
    except ValueRefusedError:
        answer = None
    token = answer.get("access_token") if isinstance(answer, dict) else None
    if not isinstance(token, str) or not token:
        raise StepError("http_4xx", "the token server's answer has no access_token")
    return _Token(token, now + _life(answer) - EARLY)


def _life(answer: JsonValue) -> float:
    life = answer.get("expires_in") if isinstance(answer, dict) else None
    return float(life) if isinstance(life, int | float) else DEFAULT_LIFE


_BY_CLIENT: WeakKeyDictionary[HttpClient, Tokens] = WeakKeyDictionary()


def tokens_of(http: HttpClient) -> Tokens:
    """Return the tokens kept for a client: they live as long as it does."""
    return _BY_CLIENT.setdefault(http, Tokens(http))


def is_oauth2(scheme: Mapping[str, JsonValue]) -> bool:
    """Tell whether a scheme needs a token of ours."""
    return scheme["type"] == "oauth2"
