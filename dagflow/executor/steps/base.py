"""What a worker is given for one attempt of a step, and what it may use while it works."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, Protocol, TypeAlias, TypeVar, cast

from dagflow.core.clock import Clock
from dagflow.core.errors import StepError
from dagflow.core.plan import PlanStep
from dagflow.core.values import JsonObject, JsonValue


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One attempt of one step.

    `path` is the run path, `step` its plan; `token` the fencing token that the report must carry.
    `input` is what `decide` recorded: `{"with": …, "body": {name: …}}`, secrets as references.
    `activation` holds exactly what a transform's expression reads, and nothing for other kinds.
    `idempotency_key` is equal on every attempt of one generation. `tools` and `models` are the
    plan's; `secrets` the names that the step's templates and credentials read: no others may be
    resolved.
    """

    run_id: str
    root: str
    path: str
    attempt: int
    token: int
    kind: str
    step: PlanStep
    input: JsonValue = None
    activation: JsonObject = field(default_factory=dict)
    idempotency_key: str = ""
    tools: Mapping[str, JsonObject] = field(default_factory=dict)
    models: Mapping[str, JsonObject] = field(default_factory=dict)
    secrets: frozenset[str] = frozenset()

    @property
    def arguments(self) -> JsonValue:
        """Return what the step's `with` gave, or None."""
        return self.input.get("with") if isinstance(self.input, dict) else None

    @property
    def body(self) -> JsonObject:
        """Return what the templates of the kind's own fields gave, by name."""
        body = self.input.get("body") if isinstance(self.input, dict) else None
        return body if isinstance(body, dict) else {}


class StepContext(Protocol):
    """What an attempt may use beside its own values."""

    @property
    def clock(self) -> Clock:
        """The worker's clock."""
        ...

    @property
    def services(self) -> Mapping[str, object]:
        """What wiring provides by name, such as `cage`; see `service`."""
        ...

    def emit(self, kind: str, data: JsonObject) -> None:
        """Send something to whoever watches the run; it is masked, never stored, and may be lost.

        `kind` is `token` (`{"text": …}`), `log` (`{"stream", "text"}`) or `progress`.
        """
        ...

    def use(self, **amounts: float) -> None:
        """Count what the attempt used (`tokens=…`, `cost=…`), however it ends.

        Calls of tools and items are counted by the engine.
        """
        ...

    def secret(self, name: str) -> str:
        """Return a secret's value.

        Raises `StepError(internal)` when it isn't set, or the step's plan does not name it.
        """
        ...

    def resolve_secrets(self, value: JsonValue) -> JsonValue:
        """Return a credential, or a rendered `with` or body of the kinds in `SECRET_KINDS`, with
        every reference to a secret replaced by the secret itself. Data is not for this.
        """
        ...

    def hide(self, secret: str) -> None:
        """Mask this from now on, like a secret that the attempt resolved."""
        ...

    def mask(self, value: JsonValue) -> JsonValue:
        """Return `value` with every secret that this attempt resolved replaced by `***`.

        What a secret was cut or split into is not known for one: mask first.
        """
        ...

    def mask_cut(self, text: str) -> str:
        """Return text that somebody cut at its end or before a `…`, masked as by `mask`.

        The beginning of a secret there is masked, too.
        """
        ...


StepWork: TypeAlias = Callable[[Attempt, StepContext], Awaitable[JsonValue]]
"""What a kind does: returns the output, or raises `StepError`.

It bounds no time itself: it is cancelled (asyncio) when the step is cancelled or its time is up,
and must then stop what it started before it lets the cancellation go on.
"""


UNBOUNDED: Final = 1e9
"""Seconds: for what asks for a bound of its own, which would also run out in a pause."""

Service = TypeVar("Service")


def service(context: StepContext, name: str, kind: type[Service]) -> Service:
    """Return what wiring provides under `name`, which must be a `kind` (a class or a protocol).

    Raises `StepError(internal)` when this worker has no such thing.
    """
    found = context.services.get(name)
    if found is None:
        raise StepError(
            "internal",
            f"this worker has no {name!r} ({kind.__name__})",
            remedy="start the worker with it, or run the step elsewhere",
        )
    return cast("Service", found)
