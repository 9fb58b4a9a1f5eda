"""`dagflow llm`."""

from __future__ import annotations

import os
import sys
from typing import Any

import click


@click.command("llm")
@click.option("--model", default="", help="A model file (GGUF); default SmolLM2-135M-Instruct.")
@click.option("--host", default="127.0.0.1", show_default=True)
@click.option("--port", default=8100, show_default=True, type=click.IntRange(0, 65535))
def command(**options: Any) -> None:
    """Serve a local model over the OpenAI chat-completions protocol, until stopped.

    Needs dagflow[llm]. Callers must send the key in DAGFLOW_LLM_KEY, if that is set.

    A run that has `llm` steps with the route `local` starts one by itself.
    """
    # The inference worker is a process of its own: this one becomes it.
    given = [f"--{name}={value}" for name, value in options.items() if value != ""]
    sys.stdout.flush()
    os.execv(sys.executable, [sys.executable, "-P", "-m", "dagflow.llm", *given])  # noqa: S606
