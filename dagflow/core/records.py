"""`dataclass` for slotted classes: as the standard one, made in a fifth of the time.

The standard decorator compiles six functions for a frozen class, and a check imports some two
hundred classes, so that was a third of its start-up. Here only `__init__` is compiled, when the
first instance is made; the other methods are closures over the fields.

Type checkers are shown the standard decorator, and it is they who hold `frozen`: to hold it at run
time, too, makes every instance cost three times as much.
"""

from __future__ import annotations

import dataclasses
import operator
import sys
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable
    from dataclasses import Field
    from dataclasses import dataclass as dataclass  # noqa: PLC0414  # exported under this name

    Key = Callable[[object], object]
    Fields = tuple[Field[Any], ...]
    Names = dict[str, Any]

R = TypeVar("R")

_LEFT_OUT = object()
"""The default of a parameter whose field has a factory."""

_ORDER = ("__lt__", "__le__", "__gt__", "__ge__")


def slotted(
    *,
    slots: bool,
    frozen: bool = False,
    kw_only: bool = False,
    order: bool = False,
    weakref_slot: bool = False,
) -> Callable[[type], type]:
    """Return the decorator that makes a slotted dataclass of a class.

    The class is one for `fields`, `replace`, `asdict`, `match`, `copy` and `pickle`, too. The
    parameters mean what they mean to the standard decorator, but for `frozen`, which gives the
    class a hash and leaves it to type checkers to refuse assignments; TypeError refuses all others.
    """
    if not slots:
        raise TypeError("only slotted classes are made here; use the standard dataclass")

    def decorated(cls: type) -> type:
        # Without a docstring the standard decorator takes a signature apart to write one.
        cls.__doc__ = cls.__doc__ or cls.__name__
        dataclasses.dataclass(init=False, repr=False, eq=False, kw_only=kw_only)(cls)
        fields: Fields = dataclasses.fields(cls)
        methods = _methods(fields, frozen=frozen)
        if order:
            methods |= _ordered(fields)
        extra = ("__weakref__",) if weakref_slot else ()
        made = _with_slots(cls, fields, methods, extra)
        type.__setattr__(made, "__init__", _init(made, fields))
        return made

    return decorated


if not TYPE_CHECKING:
    dataclass = slotted


def replace(record: R, /, **changes: Any) -> R:
    """Return a record like another but for these fields, in a third of the standard one's time.

    A field that `__init__` doesn't take has its default again.
    """
    cls = type(record)
    names = _TAKEN.get(cls)
    if names is None:
        fields = dataclasses.fields(record)  # type: ignore[arg-type]  # only records are given
        names = _TAKEN[cls] = tuple(field.name for field in fields if field.init)
    for name in names:
        if name not in changes:
            changes[name] = getattr(record, name)
    return cls(**changes)


_TAKEN: dict[type, tuple[str, ...]] = {}
"""The names of the fields that each class's `__init__` takes."""


def _with_slots(cls: type, fields: Fields, methods: Names, extra: tuple[str, ...]) -> type:
    """Return the class anew with these methods, a slot for each new field, and these others."""
    taken = {name for base in cls.__mro__[1:] for name in getattr(base, "__slots__", ())}
    names = tuple(field.name for field in fields)
    unwanted = {*names, "__dict__", "__weakref__"}
    own = {name: value for name, value in vars(cls).items() if name not in unwanted}
    if "__eq__" in own and own.get("__hash__") is None:
        own.pop("__hash__", None)  # Python writes None where a class has its own `__eq__`
    slots = (*(name for name in names if name not in taken), *extra)
    made = type(cls)(cls.__name__, cls.__bases__, {**methods, **own, "__slots__": slots})
    made.__qualname__ = cls.__qualname__
    return made


def _methods(fields: Fields, *, frozen: bool) -> Names:
    key = _key(fields)
    names = tuple(field.name for field in fields if field.repr)

    def equal(self: object, other: object) -> object:
        if other.__class__ is not self.__class__:
            return NotImplemented
        return key(self) == key(other)

    def shown(self: object) -> str:
        values = ", ".join(f"{name}={getattr(self, name)!r}" for name in names)
        return f"{type(self).__qualname__}({values})"

    def hashed(self: object) -> int:
        return hash(key(self))

    return {"__eq__": equal, "__repr__": shown, "__hash__": hashed if frozen else None}


def _ordered(fields: Fields) -> Names:
    key = _key(fields)
    return {name: _comparison(key, getattr(operator, name)) for name in _ORDER}


def _comparison(key: Key, compare: Callable[[object, object], object]) -> Callable[..., object]:
    def compared(self: object, other: object) -> object:
        if other.__class__ is not self.__class__:
            return NotImplemented
        return compare(key(self), key(other))

    return compared


def _key(fields: Fields) -> Key:
    """Return the getter of what equal instances have in common."""
    names = [field.name for field in fields if field.compare]
    return operator.attrgetter(*names) if names else lambda _: ()


def _init(cls: type, fields: Fields) -> Callable[..., None]:
    """Return an `__init__` that makes way for a compiled one when the first instance is made."""

    def first(self: object, *args: object, **named: object) -> None:
        compiled = _compiled(cls, fields)
        type.__setattr__(cls, "__init__", compiled)
        compiled(self, *args, **named)

    return first


def _compiled(cls: type, fields: Fields) -> Callable[..., None]:
    """Compile `__init__` in the module of the class, where its annotations can be resolved."""
    names: Names = {"_left_out": _LEFT_OUT}
    for field in fields:
        names |= _defaults(field)
    head = ", ".join(["self", *_parameters(fields)])
    body = [_assigned(field) for field in fields] or ["pass"]
    if hasattr(cls, "__post_init__"):
        body.append("self.__post_init__()")
    text = (
        f"def make({', '.join(names)}):\n def __init__({head}): {'; '.join(body)}\n return __init__"
    )
    found: Names = {}
    exec(text, vars(sys.modules[cls.__module__]), found)  # noqa: S102  # as the standard one does
    init: Callable[..., None] = found["make"](**names)
    init.__qualname__ = f"{cls.__qualname__}.__init__"
    init.__annotations__ = {field.name: field.type for field in fields if field.init}
    return init


def _defaults(field: Field[Any]) -> Names:
    """Return what `__init__` knows of a field's default, by the name that it has there."""
    if field.default_factory is not dataclasses.MISSING:
        return {f"_make_{field.name}": field.default_factory}
    if field.default is not dataclasses.MISSING:
        return {f"_default_{field.name}": field.default}
    return {}


def _parameters(fields: Fields) -> list[str]:
    """Return the parameters in their order, as they are written."""
    placed = [_parameter(field) for field in fields if field.init and not field.kw_only]
    named = [_parameter(field) for field in fields if field.init and field.kw_only]
    return [*placed, "*", *named] if named else placed


def _parameter(field: Field[Any]) -> str:
    if field.default_factory is not dataclasses.MISSING:
        return f"{field.name}=_left_out"
    if field.default is not dataclasses.MISSING:
        return f"{field.name}=_default_{field.name}"
    return field.name


def _assigned(field: Field[Any]) -> str:
    """Return the statement that sets a field of a new instance."""
    name = value = field.name
    if field.default_factory is not dataclasses.MISSING:
        value = f"_make_{name}()"
        if field.init:
            value = f"{value} if {name} is _left_out else {name}"
    elif not field.init:
        if field.default is dataclasses.MISSING:
            return "pass"  # left to `__init__`'s caller, who alone knows the value
        value = f"_default_{name}"
    return f"self.{name} = {value}"
