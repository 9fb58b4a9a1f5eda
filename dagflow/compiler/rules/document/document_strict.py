"""DF001: what YAML 1.2 and its limits refuse."""

from __future__ import annotations

from collections.abc import Iterator

from dagflow.compiler.parsed import from_parser
from dagflow.compiler.rule import Checks, rule
from dagflow.compiler.violation import Violation
from dagflow.core.findings import Severity


@rule("DF001", "document-strict", Severity.ERROR, "source")
def document_strict(checks: Checks) -> Iterator[Violation]:
    """The document is not strict YAML 1.2, or larger than a workflow may be.

    What another parser would read otherwise, or not at all, is refused: duplicate keys, names
    that differ only in case, merge keys, tags, numbers beyond 64 bits, NaN, and documents that
    grow when their aliases are followed. So a file means the same to everyone who reads it.

    Bad:

        dagflow: 1
        name: greet
        steps:
          hello: {transform: '"hello"'}
          hello: {transform: '"good day"'}  # DF001: the key `hello` appears twice
        outputs:
          text: ${{ steps.hello.output }}

    Good:

        dagflow: 1
        name: greet
        steps:
          hello: {transform: '"hello"'}
        outputs:
          text: ${{ steps.hello.output }}
    """
    yield from from_parser(checks, "DF001")
