"""The step kinds: what each says. What each does is in `executor/steps`, under the same names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from dagflow.core.steps import (
    approve,
    fail,
    foreach,
    llm,
    python,
    repeat,
    shell,
    switch,
    tool,
    transform,
    wait,
    workflow,
)
from dagflow.core.steps.kind import StepKind

KINDS: Final[Mapping[str, StepKind]] = {
    module.KIND.name: module.KIND
    for module in (
        tool, llm, python, shell, transform, switch,
        foreach, repeat, workflow, approve, wait, fail,
    )
}  # fmt: skip

FUTURE_KINDS: Final = ("agent", "retrieve")
"""Kinds of the language that this version does not run; using one is a clear finding."""
