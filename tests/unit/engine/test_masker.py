"""Secrets are masked however they come back: escaped, encoded, joined to one line, or cut."""

from __future__ import annotations

import base64
import html
import json
import re
import shlex
import time
from collections.abc import Callable
from urllib.parse import quote, quote_plus

import pytest

from dagflow.executor.steps.secrets import Masker

SECRET = 'pa$$ w0rd/ü"x'
KEY_LINES = [
    "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSj+gEAAoIBAQC7VJTUt9Us8cKB",
    "wIRsPDzeO/5GrYl2XhVNSHKUoPzLrIpFZ3dTQ8tC0lYwEkVxVZk4WqhBz7NnqTnK",
    "Qm7RtSx=",
]
SECRETS = {
    "a key with line breaks": "\n".join(
        ["-----BEGIN KEY-----", *KEY_LINES, "-----END KEY-----", ""]
    ),
    "a token with two blanks": "tok  Zq81 mWv2Xr\tKp\r\n\r\nLd",
    "marks": SECRET,
    "quotes": 'it\'s "Zq81" \\and\\ mWv2X',
    "a surrogate pair": "zw\U0001f600lf Qx7Kp2",
    "control characters": "Ld\x00\x1bmWv2\x85Xr\u200bKp81",
    "pluses": "Zq81+ + mWv2X++r/=Kp",
    "a template": "<b>&Zq81%20mWv2%X~1\\n",
    "an end of line after it": "Zq81mWv2\n",
}
WRITERS: dict[str, Callable[[str], str]] = {
    "as it is": str,
    "in upper case": str.upper,
    "joined to one line": lambda text: " ".join(text.split()),
    "without blanks": lambda text: "".join(text.split()),
    "printable and joined": lambda text: " ".join(
        "".join(char if char.isprintable() else " " for char in text).split()
    ),
    "indented": lambda text: text.replace("\n", "\n        "),
    "JSON": json.dumps,
    "JSON in UTF-8": lambda text: json.dumps(text, ensure_ascii=False),
    "JSON in JSON": lambda text: json.dumps(json.dumps(json.dumps(text))),
    "repr": repr,
    "repr among both quotes": lambda text: repr(f"'{text}\""),
    "repr of its bytes": lambda text: repr(text.encode()),
    "repr of a repr": lambda text: repr(str({"a": text})),
    "ascii": ascii,
    "percent": lambda text: quote(text, safe=""),
    "percent in lower case": lambda text: re.sub(
        "%..", lambda found: found[0].lower(), quote(text, safe="")
    ),
    "percent twice": lambda text: quote(quote(text, safe=""), safe=""),
    "a path": quote,
    "a form": quote_plus,
    "repr of a form": lambda text: repr(quote_plus(text)),
    "HTML": html.escape,
    "XML": lambda text: "".join(
        f"&#{ord(char)};" if char in "\n\t\r&<>\"'" else char for char in text
    ),
    "a shell word": lambda text: shlex.quote(text).replace("$", r"\$"),
    "a JSON Pointer": lambda text: text.replace("~", "~0").replace("/", "~1"),
    "in latin-1": lambda text: text.encode().decode("latin-1"),
    "from latin-1": lambda text: text.encode("latin-1", "replace").decode("utf-8", "replace"),
    "base64": lambda text: base64.b64encode(text.encode()).decode(),
    "base64 of a URL": lambda text: base64.urlsafe_b64encode(text.encode()).decode(),
    "base64 in lines": lambda text: base64.encodebytes(text.encode()).decode(),
    "base64 in lines, joined": lambda text: " ".join(
        base64.encodebytes(f"user:{text}".encode()).decode().split()
    ),
    "percent of base64": lambda text: quote(base64.b64encode(text.encode()).decode(), safe=""),
}  # fmt: skip


def shown(secret: str) -> Masker:
    masker = Masker()
    masker.add(secret)
    return masker


def _without_armour(text: str) -> str:
    return re.sub("(?i)-----(BEGIN|END).KEY-----", "", text)


def _is_escape(part: str) -> bool:
    """Tell whether a part stands for a line break at the secret's end, which is left."""
    return part == "250A"


@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize("name", SECRETS)
def test_nothing_is_left_of_a_secret_however_it_is_written(name: str, writer: str) -> None:
    secret = SECRETS[name]
    written = WRITERS[writer](secret)

    masked = shown(secret).text(f"<{written}>")

    assert "***" in masked
    parts = re.findall("[0-9A-Za-z]{3,}", _without_armour(written))
    assert [part for part in parts if part in masked and not _is_escape(part)] == []


@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize("name", SECRETS)
def test_nothing_is_left_of_a_secret_however_it_is_written_and_cut(name: str, writer: str) -> None:
    secret = SECRETS[name]
    written = WRITERS[writer](secret)
    masker = shown(secret)
    whole = masker.text(f"<{written}>").partition("***")[0]

    for end in range(len(whole) + 60, len(written), 7):
        masked = masker.cut_text(f"<{written}"[:end])
        assert "***" in masked
        assert KEY_LINES[0][:9] not in masked
        assert "mWv2" not in masked.replace("\\", "")


def test_what_stands_around_a_secret_is_kept() -> None:
    masker = shown(SECRETS["an end of line after it"])

    assert masker.text("a\n Zq81mWv2 \nb") == "a\n *** \nb"
    assert masker.text("-----BEGIN KEY-----") == "-----BEGIN KEY-----"


def test_each_long_line_of_a_secret_is_a_secret() -> None:
    masker = shown(SECRETS["a key with line breaks"])

    assert masker.value([*KEY_LINES, "-----BEGIN KEY-----"]) == [
        "***", "***", KEY_LINES[2], "-----BEGIN KEY-----",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "secret", ["++++", "    ", "\n\n\n\n", "----", "a++b", "\ud800\udcff\x00\x01", "a   "]
)
def test_a_secret_of_hardly_any_letters_is_masked_as_it_is(secret: str) -> None:
    masker = shown(secret)

    assert masker.text(f"<{secret}>") == "<***>"
    assert masker.text("a plain table") == "a plain table"


@pytest.mark.parametrize("name", SECRETS)
@pytest.mark.parametrize("char", ["\\", " ", "%25", "&", "+", "\\n", "a", "-", "\\u0020", "…"])
def test_no_text_takes_long_to_search(name: str, char: str) -> None:
    masker = shown(SECRETS[name])
    text = f"Zq81 tok {char * 100_000}"
    began = time.process_time()

    masker.cut_text(text)

    assert time.process_time() - began < 2


@pytest.mark.parametrize(
    "form",
    [
        SECRET,
        SECRET.upper(),
        SECRET.lower(),
        quote(SECRET, safe=""),
        json.dumps(SECRET)[1:-1],
        json.dumps(SECRET, ensure_ascii=False)[1:-1],
        base64.b64encode(SECRET.encode()).decode(),
        base64.urlsafe_b64encode(SECRET.encode()).decode(),
    ],
)
def test_a_secret_is_masked_however_it_is_written(form: str) -> None:
    masker = Masker()
    masker.add(SECRET)

    assert masker.text(f"<{form}>") == "<***>"
    assert masker.value({form: [form, 1]}) == {"***": ["***", 1]}


@pytest.mark.parametrize("before", ["", "u", "us", "use", "user:"])
def test_a_secret_inside_a_text_that_was_encoded_whole_is_masked(before: str) -> None:
    masker = Masker()
    masker.add("s3cr3t-token")
    coded = base64.b64encode(f"{before}s3cr3t-token and more".encode()).decode()

    masked = masker.text(coded)

    assert "***" in masked
    left = masked.partition("***")[0]
    whole = left[: len(left) // 4 * 4]
    assert base64.b64decode(whole) == before.encode()[: len(whole) // 4 * 3]


@pytest.mark.parametrize("left", range(4, len("s3cr3t-token")))
def test_what_a_cut_has_left_of_a_secret_is_masked(left: int) -> None:
    masker = Masker()
    masker.add("s3cr3t-token")
    begun = "s3cr3t-token"[:left]

    assert masker.cut_text(f"refused: {begun}") == "refused: ***"
    assert masker.cut_text(f"'{begun}…' s3cr3t-token {begun}") == "'***…' *** ***"
    assert masker.cut_text(f"{begun} is no cut") == f"{begun} is no cut"


def test_text_without_secrets_is_left_alone_and_short_secrets_hide_nothing() -> None:
    masker = Masker()
    masker.add("abc")

    assert masker.text("abc abcd") == "abc abcd"
    assert masker.value([None, True, 1.5, "x"]) == [None, True, 1.5, "x"]
