"""Shapes: what may stand where in a workflow file.

A dataclass whose fields are declared with `shaped(...)` is the one source for three readers: the
parser (what to accept, and what to say otherwise), the published JSON Schema, and the reference.
The YAML key of a field is its name without a trailing underscore (`with_` is written `with`).

What the parser makes of each shape:

    Str Name Choice Cel    At[str]              Bool        At[bool]
    Int                    At[int]              Number      At[float]
    Duration               At[timedelta]        Size Rate   At[int]  (bytes, bytes a second)
    Template               Node                 SchemaOf    SchemaText
    FieldsOf               tuple[FieldDecl, …]  ListOf(x)   tuple of what x makes
    MapOf(x)               Table of what x makes
    Record(cls)            an instance of cls   AnyOf(…)    what the alternative makes
    StepsOf                tuple[Step, …]
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import MISSING, Field, field, fields
from typing import Any, Generic, TypeAlias, TypeVar

from dagflow.core.records import dataclass
from dagflow.core.source import At

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Str:
    """A string; `pattern` is a Python regex for the whole of it."""

    pattern: str = ""
    max_length: int = 65_536


@dataclass(frozen=True, slots=True)
class Name:
    """A name of ours: `[A-Za-z_][A-Za-z0-9_-]*`, at most 63 characters."""


@dataclass(frozen=True, slots=True)
class Choice:
    """One of a few words."""

    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Cel:
    """A bare CEL expression."""


@dataclass(frozen=True, slots=True)
class Bool:
    """true or false."""


@dataclass(frozen=True, slots=True)
class Int:
    """An integer within bounds."""

    minimum: int = 0
    maximum: int = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Number:
    """A number within bounds."""

    minimum: float = 0.0
    maximum: float = 1e18


@dataclass(frozen=True, slots=True)
class Duration:
    """A time span: 200ms, 5s, 10m, 2h, 1d, or several together (1h30m)."""


@dataclass(frozen=True, slots=True)
class Size:
    """A number of bytes: 128MiB, 10MB, 4096."""


@dataclass(frozen=True, slots=True)
class Rate:
    """Bytes a second: 10MB/s."""


@dataclass(frozen=True, slots=True)
class Template:
    """Any value; its strings may hold `${{ … }}`. With `text`, a string only."""

    text: bool = False


@dataclass(frozen=True, slots=True)
class SchemaOf:
    """One type: a bare word (`string`, `string?`) or any JSON Schema."""


@dataclass(frozen=True, slots=True)
class FieldsOf:
    """A closed object type: name → schema, or `{schema: …}` / a bare word when `whole`."""

    whole: bool = False


@dataclass(frozen=True, slots=True)
class StepsOf:
    """Nested steps: name → step."""


@dataclass(frozen=True, slots=True)
class ListOf:
    """A list of one shape; with `single`, one item may stand without the brackets.

    That one is read as `Alone`, for where it means another thing than a list of one.
    """

    item: Shape
    minimum: int = 0
    single: bool = False


@dataclass(frozen=True, slots=True)
class MapOf:
    """name → value of one shape; with `free`, any text may be the name."""

    value: Shape
    free: bool = False


@dataclass(frozen=True, slots=True)
class Record:
    """A mapping with the fields of `cls`; a scalar or list alone fills the field `shorthand`."""

    cls: type[Any]
    shorthand: str = ""


@dataclass(frozen=True, slots=True)
class AnyOf:
    """The first alternative that takes this kind of YAML node (mapping, list or scalar)."""

    options: tuple[Shape, ...]


Shape: TypeAlias = (
    Str | Name | Choice | Cel | Bool | Int | Number | Duration | Size | Rate | Template
    | SchemaOf | FieldsOf | StepsOf | ListOf | MapOf | Record | AnyOf
)  # fmt: skip


def shaped(shape: Shape, doc: str, *, default: Any = MISSING) -> Any:
    """Declare a dataclass field with its shape; a field without a default is required."""
    metadata = {"shape": shape, "doc": doc}
    if default is MISSING:
        return field(metadata=metadata)
    return field(default=default, metadata=metadata)


@dataclass(frozen=True, slots=True)
class Slot:
    """One key that a record may have."""

    key: str
    attribute: str
    shape: Shape
    doc: str
    required: bool


def slots(cls: type[Any]) -> Iterator[Slot]:
    """Yield the keys that a mapping read as `cls` may have, in their order."""
    for item in fields(cls):
        if "shape" in item.metadata:
            yield _slot(item)


def _slot(item: Field[Any]) -> Slot:
    required = item.default is MISSING and item.default_factory is MISSING
    return Slot(
        key=item.name.rstrip("_"),
        attribute=item.name,
        shape=item.metadata["shape"],
        doc=item.metadata["doc"],
        required=required,
    )


class Alone(tuple[T, ...]):
    """The one item of a list that stood without brackets."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Table(Generic[T]):
    """Values under names, in the order of the file, each name with its place."""

    entries: tuple[tuple[At[str], T], ...] = ()

    def get(self, name: str) -> T | None:
        """Return the value under `name`, or None."""
        return next((value for key, value in self.entries if key.value == name), None)

    def names(self) -> tuple[str, ...]:
        """Return the names in order."""
        return tuple(key.value for key, _ in self.entries)

    def __iter__(self) -> Iterator[tuple[At[str], T]]:
        """Iterate over (name with place, value)."""
        return iter(self.entries)

    def __len__(self) -> int:
        """Return how many names there are."""
        return len(self.entries)
