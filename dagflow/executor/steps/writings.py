"""The ways in which a secret may be written, as patterns: one for each of its characters.

A pattern takes a character as it is, in either case, and with any mixture of what may have been
done to it: escaped as in JSON, in a Python or a shell text (also more than once), percent-encoded,
written as an HTML entity or in a JSON Pointer, or decoded by the wrong character set. A run of
blanks and control characters is taken for any other such run, and for none: messages are often
joined to one line.
"""

from __future__ import annotations

import base64
import html
import re
from collections.abc import Iterator
from functools import cache
from itertools import groupby
from typing import Final

from dagflow.core.records import dataclass

SHORTEST: Final = 4
"""A shorter secret hides nothing and would blank out ordinary text."""
_LINE: Final = 16
"""A line of a secret that is at least so long is a secret by itself."""
_WRAPPED: Final = 60
"""Base64 that is longer than this may have been broken into lines."""

# every number of repetitions is bounded, so that no text from outside takes long to search
_ESCAPE: Final = r"\\{1,16}"
_PERCENT: Final = "%(?:25){0,4}"
_EXACT: Final = 96
_ANY_DIGIT: Final = "[A-Za-z0-9+/_=-]"
_OTHERWISE: Final = {"~": ["~0"], "/": ["~1"], "'": [r"'\\''", "'\"'\"'"]}
"""In a JSON Pointer, and in a shell's quotes."""
_ALPHABETS: Final = {"+": "-", "/": "_"}
_BREAK: Final = rf"(?:\s|{_ESCAPE}[nr]){{0,40}}"
_GAP: Final = "|".join((
    r"[\s\x00-\x20\x7f-\xa0+]",
    rf"{_ESCAPE}(?:[abefnrtv0]|[xu](?:00)?(?:[01][0-9a-fA-F]|2[0bB]|7[fF]|[89aA][0-9a-fA-F]))",
    rf"{_PERCENT}(?:[01][0-9a-fA-F]|2[0bB]|7[fF])",
    r"&(?:\#(?:0*(?:9|1[03]|32|43|160)|[xX]0*(?:9|[aA]|[dD]|20|2[bB]|[aA]0))|nbsp|plus);",
))  # fmt: skip


@dataclass(frozen=True, slots=True)
class Writing:
    """One way in which a secret may be written: regular expressions that follow each other.

    A text holds it only when it holds one of the `signs`, which are in lower case, in either case.
    """

    patterns: tuple[str, ...]
    signs: tuple[str, ...]

    @property
    def pattern(self) -> str:
        """Return the regular expression of the whole."""
        runs = ((one, len(list(run))) for one, run in groupby(self.patterns))
        return "".join(one if count == 1 else f"(?:{one}){{{count}}}" for one, count in runs)


def writings(secret: str) -> Iterator[Writing]:
    """Yield the ways in which a secret may be written: none for one that is too short."""
    if len(secret) < SHORTEST:
        return
    core = _stripped(secret)
    told = sum(not _is_gap(char) for char in core)
    yield _plain(core) if told >= SHORTEST else _literal(secret)
    yield from map(_plain, _lines(core))
    yield from map(_coded, _base64(secret.encode(errors="surrogatepass")))


def _stripped(secret: str) -> str:
    """Return a secret without the blanks and line breaks around it, which get lost easily."""
    inner = [at for at, char in enumerate(secret) if not _is_gap(char)]
    return secret[inner[0] : inner[-1] + 1] if inner else ""


def _is_gap(char: str) -> bool:
    """Tell whether a character may become a blank: the blank of a form is a plus."""
    return char.isspace() or not char.isprintable() or char == "+"


def _lines(text: str) -> list[str]:
    """Return the long lines of a text of several: each of them is a secret by itself.

    Not the armour of a key, which says nothing and stands around what isn't secret, too.
    """
    lines = [line.strip() for line in text.splitlines()]
    long = [line for line in lines if len(line) >= _LINE and not line.startswith("-----")]
    return long if len(lines) > 1 else []


def _literal(text: str) -> Writing:
    return Writing(tuple(map(_spelled, text)), (_sign(text),))


def _plain(text: str) -> Writing:
    return Writing(tuple(_elements(text)), (_sign(text),))


def _sign(text: str) -> str:
    """Return the longest part of a text that is written in one way only, but for its case."""
    return max(re.findall("[0-9A-Za-z]+", text), key=len, default="").lower()


def _elements(text: str) -> Iterator[str]:
    for is_gap, run in groupby(text, _is_gap):
        if is_gap:
            own = "|".join(map(_spelled, sorted(set(run))))
            yield f"(?:{_GAP}|{own}){{0,40}}"
        else:
            yield from map(_spelled, run)


@cache
def _spelled(char: str) -> str:
    """Return the pattern of one character."""
    cases = sorted({char, char.upper(), char.lower()})
    if char.isascii() and char.isalnum():
        return f"[{''.join(cases)}]" if len(cases) > 1 else char
    found = [way for case in cases for way in _ways(case)]
    return f"(?:{'|'.join(dict.fromkeys(found))})"


def _ways(text: str) -> Iterator[str]:
    """Yield the patterns of a character, or of the few that one has in the other case."""
    data = text.encode(errors="surrogatepass")
    yield (r"\\{0,16}" if text.isascii() else "") + re.escape(text)
    yield _PERCENT + _PERCENT.join(_hex(f"{byte:02x}") for byte in data)
    for char in text:
        code = ord(char)
        yield rf"&\#(?:0*{code}|[xX]0*{_hex(f'{code:x}')});"
        yield _ESCAPE + rf"(?:x{_hex(f'{code:02x}')}|u{_hex(f'{code:04x}')}|U{_hex(f'{code:08x}')})"
    yield from _OTHERWISE.get(text, ())
    named = html.escape(text)
    if named != text:
        yield re.escape(named)
    if not text.isascii():
        yield "".join(rf"{_ESCAPE}x{byte:02x}" for byte in data)
        wide = text.encode("utf-16-be", errors="surrogatepass").hex()
        yield "".join(rf"{_ESCAPE}u{_hex(wide[at : at + 4])}" for at in range(0, len(wide), 4))
        yield re.escape(data.decode("latin-1"))
        yield "[\ufffd?]{1,4}"


def _hex(digits: str) -> str:
    return "".join(f"[{d}{d.upper()}]" if d.isalpha() else d for d in digits)


def _coded(text: str) -> Writing:
    """Return how base64 may be written: in both alphabets, and broken into lines when it's long.

    The end of a very long one is known by its length: patterns take time to be made.
    """
    if len(text) <= _WRAPPED:
        return Writing(tuple(map(_digit, text)), (_sign(text),))
    ways = (*map(_digit, text[:_EXACT]), *[_ANY_DIGIT] * len(text[_EXACT:]))
    first, second = text[: _WRAPPED // 2], text[_WRAPPED // 2 : _WRAPPED]  # one is in one line
    patterns = (ways[0], *(_BREAK + way for way in ways[1:]))
    return Writing(patterns, (_sign(first), _sign(second)))


@cache
def _digit(char: str) -> str:
    """Return the pattern of one character of base64."""
    if char.isalnum():
        return char
    return f"(?:{_spelled(char)}|{_ALPHABETS.get(char, char)})"


def _base64(data: bytes) -> Iterator[str]:
    """Yield the base64 characters that are the same whatever stands before and after the data."""
    for before in range(3):
        coded = base64.b64encode(b"\0" * before + data).decode().rstrip("=")
        first = (before * 8 + 5) // 6
        found = coded[first : (before + len(data)) * 8 // 6]
        if len(found) >= SHORTEST:
            yield found
    yield base64.b64encode(data).decode()
