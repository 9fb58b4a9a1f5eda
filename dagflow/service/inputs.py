"""What a person gives a run in words: inputs as `name=value` and a file, and single values."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from dagflow.core.errors import UsageError, ValueRefusedError
from dagflow.core.plan import Plan
from dagflow.core.values import JsonObject, JsonValue, Schema, read_json
from dagflow.core.words import closest


def gather(plan: Plan, words: Iterable[str], file: str | None) -> JsonObject:
    """Return the inputs that a file and `name=value` words give; a word wins over the file.

    A word's value is text where the plan says string, else JSON. Raises `UsageError` naming the
    input; whether the whole fits the plan's schema is checked when the run is submitted.
    """
    found = _from_file(file) if file else {}
    properties = _properties(plan)
    for word in words:
        name, equals, text = word.partition("=")
        if not equals:
            raise UsageError(f"--input {word!r} has no '='", remedy="write --input name=value")
        if name not in properties:
            raise UsageError(f"the workflow has no input {name!r}", remedy=_known(name, properties))
        found[name] = _value(name, text, properties[name])
    return found


def read_value(word: str, what: str) -> JsonValue:
    """Return the JSON value that a word is, or that the file `@NAME` holds.

    Raises `UsageError`, which says `what` the value was to be.
    """
    try:
        return read_json(_bytes(word[1:]) if word.startswith("@") else word)
    except ValueRefusedError as error:
        remedy = """write a text as '"yes"', an object as '{"n": 1}'; @FILE reads a file"""
        raise UsageError(f"the {what} {word!r} is {error.reason}", remedy=remedy) from error


def _properties(plan: Plan) -> dict[str, Schema]:
    schema = plan.inputs_schema
    found = schema.get("properties") if isinstance(schema, dict) else None
    return found if isinstance(found, dict) else {}  # type: ignore[return-value]  # schemas by name


def _known(name: str, properties: dict[str, Schema]) -> str:
    near = closest(name, properties)
    if near:
        return f"did you mean {near!r}?"
    return f"it has {', '.join(properties)}" if properties else "it has no inputs"


def _from_file(file: str) -> JsonObject:
    try:
        value = read_json(_bytes(file))
    except ValueRefusedError as error:
        raise UsageError(f"{file}: {error}", remedy="give a JSON object of inputs") from error
    if not isinstance(value, dict):
        raise UsageError(f"{file} is not a JSON object", remedy="give a JSON object of inputs")
    return value


def _bytes(file: str) -> bytes:
    try:
        return Path(file).read_bytes()
    except FileNotFoundError:
        raise UsageError(f"{file}: no such file") from None
    except OSError as error:
        raise UsageError(f"{file} can't be read: {error.strerror}") from error


def _value(name: str, text: str, schema: Schema) -> JsonValue:
    kind = schema.get("type") if isinstance(schema, dict) else None
    if kind == "string" or (isinstance(schema, dict) and _all_text(schema)):
        return text
    try:
        return read_json(text)
    except ValueRefusedError:
        if kind is None:
            return text
        kinds = kind if isinstance(kind, list) else [kind]
        wanted = " or ".join(map(str, kinds))
        raise UsageError(
            f"input {name!r} is {text!r}, not of type {wanted}",
            remedy='values are written as JSON: 3, true, ["a"], {"k": 1}',
        ) from None


def _all_text(schema: JsonObject) -> bool:
    values = schema.get("enum")
    return isinstance(values, list) and all(isinstance(value, str) for value in values)
