"""The log of a run as JSON: each change written in one way, and read back exactly or refused."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, Final, TypeAlias, cast

from dagflow.core.clock import instant
from dagflow.core.errors import ERROR_CLASSES, ErrorClass, ValueRefusedError
from dagflow.core.records import dataclass
from dagflow.core.run import (
    STATES,
    Change,
    RunChanged,
    RunState,
    SignalArrived,
    SignalTaken,
    StepChanged,
    StepFailure,
    StepsReset,
)
from dagflow.core.values import JsonObject, JsonValue, check_value

_INSTANT: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")


def encode(change: Change) -> JsonObject:
    """Return a change as plain JSON. Its values are taken over, not copied."""
    kind = _BY_TYPE[type(change)]
    body: JsonObject = {"change": kind.name}
    for name, codec in kind.fields.items():
        body[name] = codec.write(getattr(change, name))
    return body


def decode(value: JsonValue) -> Change:
    """Return the change that `encode` wrote. Raises `ValueRefusedError` for anything else."""
    body = _object(value, "/")
    kind = _BY_NAME.get(str(body.get("change")))
    if kind is None:
        raise ValueRefusedError("/change", f"no change is called {body.get('change')!r}")
    _exactly(body, {"change", *kind.fields}, "")
    read = {name: codec.read(body[name], f"/{name}") for name, codec in kind.fields.items()}
    return kind.type(**read)


@dataclass(frozen=True, slots=True)
class _Codec:
    """How one field is written and read; `read` gets the place for its error."""

    write: Callable[[Any], JsonValue]
    read: Callable[[JsonValue, str], Any]


@dataclass(frozen=True, slots=True)
class _Kind:
    name: str
    type: Callable[..., Change]
    fields: Mapping[str, _Codec]


def _as_is(value: Any) -> JsonValue:
    return cast("JsonValue", value)


def _of_type(expected: type, words: str) -> _Codec:
    def read(value: JsonValue, at: str) -> JsonValue:
        if type(value) is not expected:
            raise ValueRefusedError(at, f"{value!r} is not {words}")
        return value

    return _Codec(_as_is, read)


def _optional(codec: _Codec) -> _Codec:
    return _Codec(
        lambda value: None if value is None else codec.write(value),
        lambda value, at: None if value is None else codec.read(value, at),
    )


def _read_instant(value: JsonValue, at: str) -> datetime:
    if not isinstance(value, str) or not _INSTANT.fullmatch(value):
        raise ValueRefusedError(at, f"{value!r} is no instant in UTC with microseconds")
    try:
        return datetime.fromisoformat(value)
    except ValueError as error:
        raise ValueRefusedError(at, f"{value!r} is no instant: {error}") from None


def _write_failure(value: StepFailure) -> JsonValue:
    return {
        "class": value.error_class,
        "message": value.message,
        "attempt": value.attempt,
        "retry_after": value.retry_after,
    }


def _read_failure(value: JsonValue, at: str) -> StepFailure:
    body = _object(value, at)
    _exactly(body, {"class", "message", "attempt", "retry_after"}, at)
    name, wait = body["class"], body["retry_after"]
    if name not in ERROR_CLASSES:
        raise ValueRefusedError(f"{at}/class", f"{name!r} is no error class")
    if wait is not None and type(wait) not in {int, float}:
        raise ValueRefusedError(f"{at}/retry_after", f"{wait!r} is not a number of seconds")
    return StepFailure(
        error_class=cast("ErrorClass", name),
        message=_TEXT.read(body["message"], f"{at}/message"),
        attempt=_INTEGER.read(body["attempt"], f"{at}/attempt"),
        retry_after=cast("float | None", wait),
    )


def _read_json(value: JsonValue, at: str) -> JsonValue:
    try:
        check_value(value)
    except ValueRefusedError as error:
        raise ValueRefusedError(at + error.at.rstrip("/"), error.reason) from None
    return value


def _read_state(value: JsonValue, at: str) -> str:
    if value not in STATES:
        raise ValueRefusedError(at, f"{value!r} is no state of a step")
    return value


def _read_run_state(value: JsonValue, at: str) -> RunState:
    try:
        return RunState(value)
    except ValueError:
        raise ValueRefusedError(at, f"{value!r} is no state of a run") from None


def _read_paths(value: JsonValue, at: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(path, str) for path in value):
        raise ValueRefusedError(at, "not a list of paths")
    return tuple(cast("list[str]", value))


def _some_of(table: Mapping[str, _Codec]) -> _Codec:
    """Return the codec of an object with any of these fields."""

    def write(value: Mapping[str, object]) -> JsonValue:
        return {name: table[name].write(field) for name, field in value.items()}

    def read(value: JsonValue, at: str) -> dict[str, object]:
        body = _object(value, at)
        unknown = next((name for name in body if name not in table), None)
        if unknown is not None:
            raise ValueRefusedError(f"{at}/{unknown}", "no such field")
        return {name: table[name].read(field, f"{at}/{name}") for name, field in body.items()}

    return _Codec(write, read)


def _object(value: JsonValue, at: str) -> JsonObject:
    if not isinstance(value, dict):
        raise ValueRefusedError(at, "not an object")
    return value


def _exactly(body: JsonObject, names: set[str], at: str) -> None:
    wrong = sorted(names.symmetric_difference(body))
    if wrong:
        what = "missing" if wrong[0] in names else "no such field"
        raise ValueRefusedError(f"{at}/{wrong[0]}", what)


_TEXT = _of_type(str, "text")
_INTEGER = _of_type(int, "an integer")
_FLAG = _of_type(bool, "true or false")
_JSON = _Codec(_as_is, _read_json)
_OBJECT = _Codec(_as_is, lambda value, at: _object(_read_json(value, at), at))
_TIME = _Codec(instant, _read_instant)
_TIME_OR_NONE = _optional(_TIME)
_FAILURE_OR_NONE = _optional(_Codec(_write_failure, _read_failure))
_STATE = _Codec(_as_is, _read_state)
_RUN_STATE = _Codec(lambda state: state.value, _read_run_state)
_PATHS = _Codec(list, _read_paths)

_Table: TypeAlias = Mapping[str, _Codec]


def _table(codecs: Mapping[_Codec, str]) -> _Table:
    return {name: codec for codec, names in codecs.items() for name in names.split()}


STEP_FIELDS: Final[_Table] = _table(
    {
        _INTEGER: "attempt generation token",
        _TEXT: "worker goto",
        _FLAG: "has_output recovered handled held_back let_go",
        _JSON: "input output errors",
        _OBJECT: "data counted",
        _FAILURE_OR_NONE: "error",
        _TIME_OR_NONE: "lease_until due ready_at started_at finished_at deadline_at",
    }
)
"""The fields of a `StepRecord` that a change may set."""

RUN_FIELDS: Final[_Table] = _table(
    {
        _INTEGER: "order",
        _TEXT: "outcome",
        _FLAG: "cancel_requested paused",
        _JSON: "outputs",
        _OBJECT: "used budget",
        _FAILURE_OR_NONE: "error",
        _TIME_OR_NONE: "started_at finished_at deadline_at cleanup_deadline_at clock_stopped_at "
        "paused_at",
    }
)
"""The fields of a `Run` that a change may set."""

_KINDS: Final = (
    _Kind(
        "step",
        StepChanged,
        {
            "path": _TEXT,
            "before": _STATE,
            "after": _STATE,
            "at": _TIME,
            "set": _some_of(STEP_FIELDS),
        },
    ),
    _Kind(
        "run",
        RunChanged,
        {"before": _RUN_STATE, "after": _RUN_STATE, "at": _TIME, "set": _some_of(RUN_FIELDS)},
    ),
    _Kind("signal", SignalArrived, {"name": _TEXT, "payload": _JSON, "at": _TIME}),
    _Kind("signal_taken", SignalTaken, {"name": _TEXT, "path": _optional(_TEXT), "at": _TIME}),
    _Kind("steps_reset", StepsReset, {"path": _TEXT, "steps": _PATHS, "at": _TIME}),
)
_BY_NAME: Final = {kind.name: kind for kind in _KINDS}
_BY_TYPE: Final = {kind.type: kind for kind in _KINDS}
