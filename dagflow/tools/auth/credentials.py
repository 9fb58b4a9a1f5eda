"""Credentials on a request: which alternative is met, and how each scheme writes itself."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from typing import Final
from urllib.parse import quote

from dagflow.core.errors import StepError
from dagflow.core.values import JsonObject, JsonValue
from dagflow.tools.request import Draft


def chosen(security: JsonValue, auth: Mapping[str, str]) -> list[JsonObject]:
    """Return the schemes of the first alternative whose every scheme is bound in `auth`.

    Without one, an alternative that asks for nothing. Raises `StepError` (http_4xx: the server
    would refuse the call) when there is none of either; nothing has been sent then.
    """
    alternatives = [_schemes(item) for item in security] if isinstance(security, list) else [[]]
    for schemes in alternatives:
        if schemes and all(str(scheme["scheme"]) in auth for scheme in schemes):
            return schemes
    if any(not schemes for schemes in alternatives):
        return []
    words = " or ".join(" with ".join(str(s["scheme"]) for s in alt) for alt in alternatives)
    first = str(alternatives[0][0]["scheme"])
    raise StepError(
        "http_4xx",
        f"the operation asks for credentials ({words}) and the tool has none for them",
        remedy=f"add `auth: {{{first}: ${{{{ secrets.NAME }}}}}}` to the tool",
    )


def _schemes(item: JsonValue) -> list[JsonObject]:
    return [scheme for scheme in item if isinstance(scheme, dict)] if isinstance(item, list) else []


def write(draft: Draft, scheme: JsonObject, secret: str) -> None:
    """Put one scheme's secret on the request; it replaces what the arguments put there."""
    _WRITERS[str(scheme["type"])](draft, scheme, secret)


def write_bearer(draft: Draft, token: str) -> None:
    """Put a token into `Authorization`."""
    _set(draft.headers, "Authorization", f"Bearer {_clean(token)}", fold=True)


def _api_key(draft: Draft, scheme: JsonObject, secret: str) -> None:
    name = str(scheme["name"])
    if scheme["in"] == "header":
        _set(draft.headers, name, _clean(secret), fold=True)
    else:
        pairs = draft.query if scheme["in"] == "query" else draft.cookies
        _set(pairs, quote(name, safe=""), quote(secret, safe=""))


def _basic(draft: Draft, _: JsonObject, secret: str) -> None:
    if ":" not in secret:
        raise StepError(
            "http_4xx",
            "the secret for basic authentication has no colon",
            remedy="store it as user:password",
        )
    text = base64.b64encode(secret.encode()).decode()
    _set(draft.headers, "Authorization", f"Basic {text}", fold=True)


def _bearer(draft: Draft, _: JsonObject, secret: str) -> None:
    write_bearer(draft, secret)


def _set(pairs: list[tuple[str, str]], name: str, value: str, *, fold: bool = False) -> None:
    wanted = name.lower() if fold else name
    pairs[:] = [p for p in pairs if (p[0].lower() if fold else p[0]) != wanted]
    pairs.append((name, value))


def _clean(secret: str) -> str:
    text = secret.strip()
    if not text or not text.isprintable():
        raise StepError(
            "http_4xx",
            "a credential is empty or holds control characters",
            remedy="store the secret again",
        )
    return text


_WRITERS: Final[Mapping[str, Callable[[Draft, JsonObject, str], None]]] = {
    "apiKey": _api_key,
    "basic": _basic,
    "bearer": _bearer,
}
