"""Write every generated file: the published schemas and a page for each rule.

python -m scripts.generate           write them
python -m scripts.generate --check   write nothing; name the files that differ and exit with 1
"""

from __future__ import annotations

import json
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path

from dagflow.api.app import api_document
from dagflow.api.schemas import PUBLISHED, published
from dagflow.compiler.rule import Rule
from dagflow.compiler.rules import ALL
from dagflow.compiler.source.json_schema import workflow_schema
from dagflow.core.values import JsonObject
from dagflow.service.testing.json_schema import cases_schema

ROOT = Path(__file__).resolve().parent.parent


def generated() -> dict[str, str]:
    """Return the text of every generated file, by its path from the root of the repository."""
    pages = {f"docs/rules/{rule.code}.md": page(rule) for rule in ALL}
    return {
        "schemas/workflow.v1.json": written(workflow_schema()),
        "schemas/test.v1.json": written(cases_schema()),
        **{f"schemas/{file}": written(published(file)) for file in PUBLISHED},
        "schemas/api.v1.json": written(api_document()),
        "docs/rules/README.md": index(ALL),
        **pages,
    }


def written(schema: JsonObject) -> str:
    """Write a schema as its file holds it."""
    return json.dumps(schema, ensure_ascii=False, indent=2) + "\n"


def index(rules: Sequence[Rule]) -> str:
    """Return the table of all rules."""
    rows = (
        f"| [{rule.code}]({rule.code}.md) | {rule.name} | {rule.severity.value} | {first(rule)} |"
        for rule in rules
    )
    head = (
        "# Rules\n\n"
        "What `dagflow check` looks for. `dagflow explain CODE` prints a rule's page.\n"
        "A comment `# dagflow: allow NAME — reason` lets a finding that is not an error stand.\n\n"
        "| code | name | severity | what it finds |\n| --- | --- | --- | --- |\n"
    )
    return head + "\n".join(rows) + "\n"


def first(rule: Rule) -> str:
    """Return the first paragraph of a rule's page on one line, as a cell of a table."""
    paragraph = rule.doc.strip().split("\n\n")[0]
    return " ".join(paragraph.split()).replace("|", "\\|")


def page(rule: Rule) -> str:
    """Return a rule's page: its own text, with the examples as code."""
    head = f"# {rule.code} {rule.name}\n\nSeverity: {rule.severity.value}.\n\n"
    body = textwrap.dedent("    " + rule.doc).strip()
    return head + body + "\n"


def stale(files: dict[str, str]) -> list[str]:
    """Return the files that are not as generated, and generated pages whose rule is gone."""
    differ = [name for name, text in files.items() if _read(ROOT / name) != text]
    there = {f"docs/rules/{path.name}" for path in (ROOT / "docs" / "rules").glob("*.md")}
    return differ + sorted(there - files.keys())


def _read(path: Path) -> str | None:
    return path.read_text(encoding="utf-8") if path.is_file() else None


def write(files: dict[str, str]) -> None:
    """Write the files, and remove pages whose rule is gone."""
    for name in stale(files):
        path = ROOT / name
        if name in files:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(files[name], encoding="utf-8")
        else:
            path.unlink()


def main(words: Sequence[str]) -> int:
    """Write or check; return the exit code."""
    files = generated()
    if "--check" not in words:
        write(files)
        return 0
    found = stale(files)
    for name in found:
        sys.stderr.write(f"{name} is not as generated; run `python -m scripts.generate`\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
