"""The whole of a document against the OpenAPI specification, in a process of its own.

Slow (half a second a megabyte) and strict (one real document in ten fails), so it advises and
never decides: compiling an operation makes its own checks.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Final

from dagflow.tools.read import DocumentError, read_document

MAX_PROBLEMS: Final = 50
MAX_WORDS: Final = 300


def validate_document(text: str, *, timeout: float = 30.0) -> tuple[str, ...]:
    """Return what the specification has against a document; empty when nothing.

    The check runs in a child that is killed after `timeout` seconds, which is then the problem
    that is returned. At most 50 problems.
    """
    command = (sys.executable, "-I", "-m", "dagflow.tools.conformance")
    try:
        child = subprocess.run(  # noqa: S603  # our own module, the document on its stdin
            command, input=text.encode(), capture_output=True, timeout=timeout, check=False
        )
    except subprocess.TimeoutExpired:
        return (f"not validated: it took longer than {timeout:g} s",)
    if child.returncode != 0:
        words = child.stderr.decode("utf-8", "replace").strip().splitlines() or ["killed"]
        return (f"not validated: {words[-1][:MAX_WORDS]}",)
    found: list[str] = json.loads(child.stdout)
    return tuple(found)


def _problems(text: str) -> list[str]:
    from openapi_spec_validator import OpenAPIV30SpecValidator, OpenAPIV31SpecValidator

    try:
        root = read_document(text)
    except DocumentError as refused:
        return [str(refused)]
    version = str(root.get("openapi"))
    validator = OpenAPIV31SpecValidator if version.startswith("3.1") else OpenAPIV30SpecValidator
    found: list[str] = []
    for error in validator(root).iter_errors():
        at = "".join(f"/{part}" for part in error.absolute_path)
        found.append(f"{at or '/'}: {error.message[:MAX_WORDS]}")
        if len(found) == MAX_PROBLEMS:
            break
    return found


if __name__ == "__main__":
    sys.stdout.write(json.dumps(_problems(sys.stdin.buffer.read().decode())))
