"""Local references of an OpenAPI document: resolved inside it, and nowhere else."""

from __future__ import annotations

from dataclasses import field

from dagflow.core.pointers import fragment, look_up
from dagflow.core.records import dataclass
from dagflow.core.values import JsonObject, JsonValue

MAX_REFERENCES = 64


class OperationRefusedError(Exception):
    """One operation can't be compiled; the message says why, `at` where (a JSON Pointer)."""

    def __init__(self, message: str, at: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.at = at


@dataclass(slots=True)
class Resolver:
    """Follows references and remembers which places they reached (the operation's closure)."""

    root: JsonObject
    reached: dict[str, JsonValue] = field(default_factory=dict)

    def follow(self, value: JsonValue, at: str) -> tuple[JsonValue, str]:
        """Return the value that stands at the end of a chain of references, and its pointer.

        Raises `OperationRefusedError` for a reference that leaves the document, points nowhere,
        or only ever leads to another reference.
        """
        seen: list[str] = []
        while isinstance(value, dict) and isinstance(value.get("$ref"), str):
            at = pointer_of(str(value["$ref"]), at)
            if at in seen or len(seen) > MAX_REFERENCES:
                raise OperationRefusedError(f"$ref {at!r} only leads back to itself", at)
            seen.append(at)
            value = self.lookup(at)
        return value, at

    def lookup(self, pointer: str) -> JsonValue:
        """Return the value at a JSON Pointer of the document, noting that it was reached."""
        if pointer in self.reached:
            return self.reached[pointer]
        try:
            value: JsonValue = look_up(self.root, pointer)
        except KeyError as error:
            message = f"$ref '#{pointer}' points nowhere: there is no {error.args[0]!r}"
            raise OperationRefusedError(message, pointer) from None
        self.reached[pointer] = value
        return value


def pointer_of(reference: str, at: str) -> str:
    """Return the JSON Pointer that a local `$ref` names.

    Raises `OperationRefusedError` unless it is `#` followed by a pointer.
    """
    if not reference.startswith("#"):
        raise OperationRefusedError(
            f"$ref {reference!r} leaves the document; bundle it into one file", at
        )
    pointer = fragment(reference)
    if pointer and not pointer.startswith("/"):
        raise OperationRefusedError(f"$ref {reference!r} is not a JSON Pointer", at)
    return pointer
