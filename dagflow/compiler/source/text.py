"""A workflow file as text: decoded, of bearable size, of characters that all readers agree on."""

from __future__ import annotations

import re

from dagflow.compiler.source.problems import STRICT, Problems
from dagflow.core.findings import Finding, Severity
from dagflow.core.source import Source, Span

BOM = "\ufeff"
ODD = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff\ud800-\udfff]|\r(?!\n)"
)
"""Characters that are refused as they stand; double quotes can write all but the surrogates."""

DIRECTIVE = re.compile(r"%(?P<name>[^ \t\r\n]*)(?P<rest>[^\r\n]*)")
YAML_VERSION = re.compile(r"[ \t]+(?P<major>\d{1,9})\.(?P<minor>\d{1,9})[ \t]*(?:[ \t]#.*)?")
CORE_TAGS = re.compile(r"[ \t]+![\w-]*!?[ \t]+tag:yaml\.org,2002:[ \t]*")
MOST_DIRECTIVES = 8
HEAD = re.compile(r"(?:[ \t]*(?:#[^\n]*)?\n)*")
OTHER_ENCODINGS = {
    b"\xff\xfe\x00\x00": "UTF-32", b"\x00\x00\xfe\xff": "UTF-32",
    b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16", b"\x1f\x8b": "gzip", b"PK": "zip",
}  # fmt: skip


def decode(name: str, data: bytes) -> tuple[Source, tuple[Finding, ...]]:
    """Return the text of a file that was read as bytes, and what is wrong with its encoding.

    Bytes that are not UTF-8 are shown as U+FFFD in the text and raise a finding at the first.
    """
    try:
        return Source(name, data.decode().removeprefix(BOM)), ()
    except UnicodeDecodeError as error:
        source = Source(name, data.decode(errors="replace").removeprefix(BOM))
        place = place_at(data[: error.start].decode().removeprefix(BOM) + "?", -1, name)
        problems = Problems()
        known = next((it for head, it in OTHER_ENCODINGS.items() if data.startswith(head)), "")
        what = f"; it begins like {known}" if known else ""
        problems.add(
            STRICT,
            f"the file is not UTF-8: byte 0x{data[error.start]:02x} at offset {error.start}{what}",
            place,
            "",
            help="save the file as UTF-8",
        )
        return source, problems.findings()


def place_at(text: str, offset: int, name: str) -> Span:
    """Return the place of one character of `text`; a negative offset counts from the end."""
    at = offset if offset >= 0 else len(text) + offset
    line = text.count("\n", 0, at) + 1
    column = at - (text.rfind("\n", 0, at) + 1) + 1
    return Span(line, column, line, column + 1, name)


def prepare(source: Source, problems: Problems) -> str | None:
    """Return the text to give to libyaml, or None when nothing can be read from the file.

    It has the same characters in the same places, and ends with a line break.
    """
    text = source.text.removeprefix(BOM)
    if not _fits(source, text, problems) or not _clean(source, text, problems):
        return None
    if not text.endswith("\n"):
        # libyaml loses the last line break of a block that ends the file without one
        text += "\n"
    return _without_directives(source, text, problems)


def _fits(source: Source, text: str, problems: Problems) -> bool:
    most = source.limits.size
    size = len(text) if len(text) > most else len(text.encode(errors="replace"))
    if size <= most:
        return True
    problems.add(
        STRICT,
        f"the file is larger than {_size(most)} ({len(text):,} characters)",
        Span(1, 1, 1, 1, source.name),
        "",
        help="move large texts out of the workflow: pass them as inputs, or read them in a step",
    )
    return False


def _size(count: int) -> str:
    mebi = 1024 * 1024
    return f"{count // mebi} MiB" if count % mebi == 0 else f"{count:,} bytes"


def _clean(source: Source, text: str, problems: Problems) -> bool:
    found = ODD.search(text)
    if found is None:
        return True
    message, remedy = _odd(found[0])
    problems.add(STRICT, message, place_at(text, found.start(), source.name), "", help=remedy)
    return False


def _odd(char: str) -> tuple[str, str]:
    code = f"U+{ord(char):04X}"
    if char == "\r":
        return "a carriage return stands without a line feed", "save the file with LF line ends"
    if char == BOM:
        return "a byte order mark (U+FEFF) stands inside the file", "remove the character"
    if "\ud800" <= char <= "\udfff":
        return f"the lone surrogate {code} is no character", "remove it"
    if char in "\x85\u2028\u2029":
        return (
            f"{code} is a line break to some readers of YAML and none to others",
            f'write it in double quotes as "\\u{ord(char):04x}", or use an ordinary line break',
        )
    return (
        f"the control character {code} may not stand in YAML",
        "remove it" if char == "\0" else f'write it in double quotes as "\\u{ord(char):04x}"',
    )


def _without_directives(source: Source, text: str, problems: Problems) -> str | None:
    """Turn directives that mean nothing here into comments, which keeps every place as it is."""
    at = _head(text, 0)
    versions = total = 0
    while text.startswith("%", at):
        match = DIRECTIVE.match(text, at)
        assert match is not None
        versions += match["name"] == "YAML"
        total += 1
        place = place_at(text, at, source.name)
        if total > MOST_DIRECTIVES:
            _refuse(problems, place, f"the file has more than {MOST_DIRECTIVES} directives")
            return None
        if not _directive(match, place, problems, versions):
            return None
        if match["name"] not in {"YAML", "TAG"} or _minor(match) > 2:  # noqa: PLR2004  # YAML 1.2
            text = f"{text[:at]}#{text[at + 1 :]}"
        at = _head(text, match.end() + 1)
    return text


def _head(text: str, at: int) -> int:
    match = HEAD.match(text, at)
    return match.end() if match else at


def _minor(match: re.Match[str]) -> int:
    version = YAML_VERSION.fullmatch(match["rest"])
    return int(version["minor"]) if version else 0


def _directive(match: re.Match[str], place: Span, problems: Problems, seen: int) -> bool:
    span = Span(
        place.line, place.column, place.line, place.column + len(match[0].rstrip()), place.file
    )
    name = match["name"]
    if name == "TAG" and CORE_TAGS.fullmatch(match["rest"]):
        return True
    if name == "TAG":
        return _refuse(problems, span, "`%TAG` declares tags, and dagflow has only the core ones")
    if name != "YAML":
        message = f"the unknown directive `%{name[:40]}` is ignored"
        problems.add(STRICT, message, span, "", help="remove it", severity=Severity.WARNING)
        return True
    version = YAML_VERSION.fullmatch(match["rest"])
    if version is None:
        return _refuse(problems, span, "the `%YAML` directive has no version like `1.2`")
    if seen > 1:
        return _refuse(problems, span, "the `%YAML` directive appears twice")
    if int(version["major"]) != 1:
        return _refuse(problems, span, f"dagflow reads YAML 1.2, not {version['major']}.x")
    if int(version["minor"]) != 2:  # noqa: PLR2004  # YAML 1.2
        message = f"the file says YAML 1.{version['minor']} and is read as YAML 1.2"
        problems.add(
            STRICT, message, span, "", help="remove the directive", severity=Severity.WARNING
        )
    return True


def _refuse(problems: Problems, span: Span, message: str) -> bool:
    problems.add(STRICT, message, span, "", help="remove the directive")
    return False
