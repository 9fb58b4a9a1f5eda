"""`dagflow check --fix`: makes the safe changes, or shows them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from difflib import unified_diff
from pathlib import Path

import click

from dagflow.cli.output import say, write_file
from dagflow.core.findings import Report
from dagflow.core.source import Source
from dagflow.service.bundle import Bundle, read_bundle
from dagflow.service.check import check
from dagflow.service.fixing import Fixed, fix


def fix_files(files: Sequence[str], *, shows: bool) -> bool:
    """Fix each file; with `shows`, print the changes and tell whether there are any."""
    changed = False
    for name in files:
        bundle = read_bundle(name)
        fixed = _fixed(bundle)
        if not fixed.made:
            continue
        changed = True
        if shows:
            click.echo(_difference(name, bundle.source.text, fixed.text), nl=False)
        else:
            mark = "\ufeff" if Path(name).read_bytes().startswith(b"\xef\xbb\xbf") else ""
            write_file(name, mark + fixed.text)
            for description in fixed.made:
                say(f"{name}: {description}")
    return changed and shows


def _fixed(bundle: Bundle) -> Fixed:
    def checked(text: str) -> Report:
        return check(replace(bundle, source=Source(bundle.source.name, text))).report

    if bundle.findings:
        return Fixed(bundle.source.text, ())  # its bytes are no text
    return fix(bundle.source.text, bundle.source.name, checked)


def _difference(name: str, before: str, after: str) -> str:
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    return "".join(unified_diff(old, new, fromfile=name, tofile=name))
