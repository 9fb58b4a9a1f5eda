"""`python -m dagflow.llm`: the inference worker as a process of its own."""

from __future__ import annotations

import argparse
import os
import sys

from dagflow.core.errors import UsageError
from dagflow.llm.installed import DEFAULT_MODEL
from dagflow.llm.server import DEFAULT_PORT, serve

KEY_VARIABLE = "DAGFLOW_LLM_KEY"


def main(arguments: list[str] | None = None) -> int:
    """Serve until stopped; 2 for what can't be done as asked."""
    asked = _parser().parse_args(arguments)
    try:
        serve(
            host=asked.host,
            port=asked.port,
            model=asked.model,
            precision=asked.precision,
            api_key=os.environ.get(KEY_VARIABLE, ""),
            threads=asked.threads,
            queue=asked.queue,
            announce=asked.embedded,
            leash=sys.stdin.buffer if asked.embedded else None,
        )
    except UsageError as error:
        print(f"error: {error}", file=sys.stderr)  # noqa: T201  # this is a command
        if error.remedy:
            print(f"help: {error.remedy}", file=sys.stderr)  # noqa: T201
        return 2
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m dagflow.llm", description=__doc__)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=DEFAULT_PORT, help="0 takes a free one")
    parser.add_argument("--model", default=DEFAULT_MODEL, help="a known model, or a GGUF file")
    parser.add_argument(
        "--precision", choices=("auto", "float32", "bfloat16"), default="auto",
        help="float32 is exact, auto is fast",
    )  # fmt: skip
    parser.add_argument("--threads", type=int, default=0, help="0: all processors we may use")
    parser.add_argument("--queue", type=int, default=64, help="requests that may wait")
    parser.add_argument(
        "--embedded", action="store_true",
        help="tell the address as JSON on stdout, and end when stdin does",
    )  # fmt: skip
    return parser


if __name__ == "__main__":
    sys.exit(main())
