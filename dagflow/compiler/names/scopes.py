"""What an expression sees where it stands: names, their types, and what to say of other names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from dagflow.compiler.names.mentions import Mention
from dagflow.compiler.names.resolve import Grounds, Site, Views, around, everywhere
from dagflow.compiler.outputs import INSTANT, INTEGER, TEXT, closed
from dagflow.core.records import dataclass, replace
from dagflow.core.steps.foreach import Foreach
from dagflow.core.values import JsonObject, Schema
from dagflow.core.words import closest, nearest
from dagflow.core.workflow import Workflow

RUN: Final[Mapping[str, Schema]] = {"id": TEXT, "started_at": INSTANT, "attempt": INTEGER}
STATUS: Final[Schema] = {
    "enum": ["succeeded", "failed", "timed_out", "cancelled"],
    "type": "string",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
    """What an expression at one place can name.

    `steps` are by name; `extras` the other variables that a mention may start with, with their
    types (`inputs`, `run`, an item, a turn); `roots` the words that a mention may start with, as
    `roots_of` the block says; `self_path` the step it belongs to, "" for outputs.
    """

    steps: Mapping[str, Site]
    extras: Mapping[str, Schema]
    roots: frozenset[str]
    self_path: str = ""
    secrets: bool = False

    def with_step(self, site: Site) -> Sight:
        """Return the same sight with one more step (a compensation sees its own step)."""
        return replace(self, steps={**self.steps, site.step.name.value: site})


@dataclass(frozen=True, slots=True)
class Trouble:
    """A name that can't be read here: the rule that says so, and its words.

    `meant` is what to write instead of the name as `written`, where that is sure enough.
    """

    rule: str
    message: str
    help: str = ""
    written: str = ""
    meant: str = ""


def item_names(step_body: Foreach) -> tuple[str, str]:
    """Return the names of the item and of its index inside a `foreach`."""
    if step_body.as_ is None:
        return "item", "index"
    return step_body.as_.value, f"{step_body.as_.value}_index"


def run_schema(*, status: bool) -> JsonObject:
    """Return the type of `run`, with `status` in `finally`."""
    return closed({**RUN, "status": STATUS} if status else RUN)


def name_trouble(
    mention: Mention, text: str, sight: Sight, workflow: Workflow, grounds: Grounds
) -> Trouble | None:
    """Tell what is wrong with a name that an expression speaks of, None when nothing is."""
    if mention.root == "steps":
        return _step_trouble(mention, text, sight, grounds)
    if mention.root == "inputs":
        return _input_trouble(mention, workflow)
    if mention.root == "run" and mention.name not in {None, *RUN, "status"}:
        known = (*RUN, "status")
        hint = nearest(str(mention.name), known)
        return Trouble("unknown-name", f"`run` has no field {mention.name!r}{hint}")
    if mention.root == "run" and mention.name == "status":
        return _status_trouble(sight)
    return None


def _status_trouble(sight: Sight) -> Trouble | None:
    run = sight.extras.get("run")
    if isinstance(run, dict) and "status" not in run.get("properties", {}):  # type: ignore[operator]
        message = "`run.status` is known only in `finally`, when the steps are done"
        return Trouble("use-before-decided", message)
    return None


def _input_trouble(mention: Mention, workflow: Workflow) -> Trouble | None:
    fields = workflow.inputs.fields if workflow.inputs else ()
    known = tuple(field.name.value for field in fields)
    if mention.name is None or mention.name in known:
        return None
    return _unknown(f"no input is named {mention.name!r}", mention.name, known)


def _unknown(message: str, name: str, known: tuple[str, ...]) -> Trouble:
    """Say that there is no such name, and which was probably meant."""
    hint = closest(name, known)
    if hint is None:
        return Trouble("unknown-name", message)
    meant = hint if hint.replace("_", "").isalnum() else f"`{hint}`"
    message = f"{message}; did you mean {hint!r}?"
    return Trouble("unknown-name", message, written=name, meant=meant)


def _step_trouble(mention: Mention, text: str, sight: Sight, grounds: Grounds) -> Trouble | None:
    name = mention.name
    if name in sight.steps:
        return None
    if name is None:
        message = "steps are read one by one, by name: `steps.<name>`"
        return Trouble("expression-type", message)
    dashed = _dashed(mention, text, tuple(sight.steps))
    if dashed:
        message = f"`steps.{dashed}` is a subtraction"
        help_ = f"write steps.`{dashed}`"
        return Trouble("expression-type", message, help_, written=dashed, meant=f"`{dashed}`")
    found = _elsewhere(name, sight, grounds)
    return found or _unknown(f"no step is named {name!r}", name, tuple(sight.steps))


def _dashed(mention: Mention, text: str, known: tuple[str, ...]) -> str:
    rest = text[mention.offset :]
    found = [name for name in known if "-" in name and rest.startswith(name)]
    return max(found, key=len, default="")


def _elsewhere(name: str, sight: Sight, grounds: Grounds) -> Trouble | None:
    sites = everywhere(grounds, name)
    if not sites:
        return None
    for site in sites:
        if site.path == sight.self_path:
            return Trouble("use-before-decided", f"step {name!r} reads itself")
        if sight.self_path.startswith(f"{site.path}."):
            message = f"a step inside {name!r} reads it, and it is decided after them"
            return Trouble("use-before-decided", message)
    inside = sites[0].block
    if inside == "finally":
        message = f"step {name!r} runs in `finally`, after everything that can read it here"
        return Trouble("use-before-decided", message)
    message = f"step {name!r} is inside {inside!r} and can't be read from outside it"
    help_ = f"read `steps.{inside.rpartition('.')[2]}.output`, which holds what its turns give"
    return Trouble("use-before-decided", message, help=help_)


def roots_of(grounds: Grounds, block: str) -> frozenset[str]:
    """Return the words that begin a mention in a block: its variables, `steps` and `secrets`."""
    names = (name for name, _ in block_names(grounds, block))
    return frozenset(("inputs", "run", "steps", "secrets", *names))


def block_names(grounds: Grounds, block: str) -> Iterator[tuple[str, Site]]:
    """Yield the loop variables in sight of a block's steps, with the composite they belong to."""
    for ground in around(grounds, block):
        composite = ground.composite
        if composite is None:
            continue
        if isinstance(composite.step.body, Foreach):
            for name in item_names(composite.step.body):
                yield name, composite
        else:
            yield "turn", composite
            yield "previous", composite


__all__ = [
    "Sight",
    "Trouble",
    "Views",
    "block_names",
    "item_names",
    "name_trouble",
    "roots_of",
    "run_schema",
]
