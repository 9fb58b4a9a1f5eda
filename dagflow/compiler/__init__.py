"""The compiler: from a workflow file to findings and a plan."""

from __future__ import annotations

from dagflow.compiler.compile import Compiled, compile_workflow, explain
from dagflow.compiler.memory import Memory
from dagflow.compiler.names.resolve import children_of

__all__ = ["Compiled", "Memory", "children_of", "compile_workflow", "explain"]
