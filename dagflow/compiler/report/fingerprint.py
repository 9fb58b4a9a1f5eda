"""What tells a finding from others though lines move."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256

from dagflow.core.findings import Finding
from dagflow.core.source import Source


def fingerprint(finding: Finding, sources: Mapping[str, Source]) -> str:
    """Return a key that stays when other parts of the file change.

    It is made of the rule, the file, the JSON Pointer and the text of the line; several findings
    of one rule at one place have the same.
    """
    source = sources.get(finding.span.file)
    line = " ".join(source.line(finding.span.line).split()) if source is not None else ""
    parts = (finding.name, finding.span.file, finding.path, line)
    return sha256("\0".join(parts).encode()).hexdigest()[:32]
