"""What may be the key of a mapping: text, and not the merge key."""

from __future__ import annotations

from dagflow.core.node import Node, Scalar


def is_merge(node: Scalar) -> bool:
    """Tell whether a key is YAML 1.1's merge key."""
    return node.value == "<<" and node.style == "plain"


def key_trouble(node: Node) -> tuple[str, str] | None:
    """Return (message, help) for a node that can't be a key."""
    if not isinstance(node, Scalar):
        return "a mapping or a list can't be a key", "keys are plain text"
    if is_merge(node):
        remedy = "write the keys out, or use `defaults` for what all steps share"
        return "the merge key `<<` is not part of YAML 1.2", remedy
    if isinstance(node.value, str):
        return None
    if not node.raw:
        return "the key is empty, and keys are text", "write a key before `:`"
    kind = {bool: "a boolean", type(None): "null"}.get(type(node.value), "a number")
    said = f"the key `{node.raw}` is {kind}, and keys are text"
    return said, f'write it in quotes: "{node.raw}"'
