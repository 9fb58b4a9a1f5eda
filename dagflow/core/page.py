"""One self-contained HTML page: no script, no network, every value escaped."""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import cache
from html import escape
from importlib import resources

from dagflow.core.text import clean
from dagflow.core.values import JsonValue

POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


def page(title: str, body: str) -> str:
    """Return a whole document around `body`, which must be safe HTML already."""
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        f"<title>{text(title)}</title>\n<style>\n{_style()}</style>\n</head>\n"
        f"<body>\n{body}\n</body>\n</html>\n"
    )


@cache
def _style() -> str:
    return resources.files("dagflow.core").joinpath("page.css").read_text("utf-8")


def text(value: object) -> str:
    """Return a value's text, safe inside HTML."""
    return escape(clean(str(value)))


def badge(word: str, style: str | None = None) -> str:
    """Return a word in a rounded frame, coloured by its class."""
    return f'<span class="badge {text(style or word)}">{text(word)}</span>'


def facts(rows: Iterable[tuple[str, str]]) -> str:
    """Return a list of names and values; the values must be safe HTML already."""
    body = "".join(f"<dt>{text(name)}</dt><dd>{value}</dd>" for name, value in rows)
    return f'<dl class="facts">{body}</dl>'


def table(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Return a table; the cells must be safe HTML already."""
    head = "".join(f"<th>{text(name)}</th>" for name in heads)
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def json_block(value: JsonValue) -> str:
    """Return a JSON value as preformatted text."""
    written = json.dumps(value, ensure_ascii=False, indent=2)
    return f"<pre>{text(written)}</pre>"
