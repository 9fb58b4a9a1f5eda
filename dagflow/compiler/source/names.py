"""Names: what may be one, and names that are too much alike."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

from dagflow.compiler.source.spot import Bad, Spot
from dagflow.core.findings import Edit, Fix, Related
from dagflow.core.node import Scalar
from dagflow.core.source import At, Span

NAME_PATTERN: Final = r"[A-Za-z_][A-Za-z0-9_-]*"
MAX_NAME: Final = 63

_NAME = re.compile(NAME_PATTERN)
_FOREIGN = re.compile(r"[^A-Za-z0-9_-]+")


def name_of(node: Scalar, spot: Spot) -> At[str] | Bad:
    """Read a name of ours."""
    text = str(node.value)
    trouble = _trouble(text)
    if not trouble:
        return At(text, node.span)
    hint = _clean(text)
    remedy = "a name has letters, digits, `_` and `-`, begins with a letter or `_`, and has at most"
    fixes = (Fix(f"write `{hint}`", (Edit(node.span, hint),)),) if hint else ()
    suffix = f"; did you mean `{hint}`?" if hint else ""
    return spot.bad(f"{trouble}{suffix}", node.span, f"{remedy} {MAX_NAME} characters", fixes=fixes)


def _trouble(text: str) -> str:
    if not text:
        return "a name is empty"
    if len(text) > MAX_NAME:
        return f"the name `{text[:20]}…` has {len(text)} characters, and {MAX_NAME} are allowed"
    if _NAME.fullmatch(text):
        return ""
    foreign = _FOREIGN.search(text)
    if foreign:
        return f"`{text}` is no name: it has {foreign[0][0]!r} in it"
    return f"`{text}` is no name: it begins with {text[0]!r}"


def _clean(text: str) -> str:
    ascii_text = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    found = _FOREIGN.sub("_", ascii_text).strip("_")[:MAX_NAME]
    return found if _NAME.fullmatch(found) and found != text else ""


class Twins:
    """Refuses names that differ only in case or Unicode form: people can't tell them apart."""

    def __init__(self, known: tuple[tuple[str, Span], ...] = ()) -> None:
        self._seen = {_form(name): (name, span) for name, span in known}

    def admits(self, name: str, span: Span, spot: Spot, what: str) -> bool:
        """Tell whether the name is new; otherwise add a finding that shows both places."""
        first, place = self._seen.setdefault(_form(name), (name, span))
        if place is span:
            return True
        said = f"{what} `{name}` has the name of another"
        if first != name:
            said = f"{what} `{name}` differs from `{first}` only in case or Unicode form"
        related = (Related(f"`{first}` is named here", place),)
        spot.bad(said, span, "rename one of them", related=related, strict=first != name)
        return False


def _form(name: str) -> str:
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())
