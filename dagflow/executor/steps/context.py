"""What an attempt may use: the worker's `StepContext`."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from dagflow.core.clock import Clock
from dagflow.core.errors import StepError
from dagflow.core.references import resolved
from dagflow.core.values import JsonObject, JsonValue
from dagflow.executor.live.base import Emitted, LiveBus
from dagflow.executor.steps.base import Attempt
from dagflow.executor.steps.secrets import Masker

SecretSource = Callable[[str], str | None]
"""Gives a secret's value by its name, or None when it isn't set."""


def no_secrets(_name: str) -> str | None:
    """Know no secret."""
    return None


class WorkContext:
    """A `StepContext` for one attempt."""

    def __init__(
        self,
        attempt: Attempt,
        *,
        clock: Clock,
        live: LiveBus,
        secrets: SecretSource,
        services: Mapping[str, object],
    ) -> None:
        self._attempt = attempt
        self._live = live
        self._secrets = secrets
        self._masker = Masker()
        self._clock = clock
        self._services = services
        self.used: JsonObject = {}

    @property
    def clock(self) -> Clock:
        """The worker's clock."""
        return self._clock

    @property
    def services(self) -> Mapping[str, object]:
        """What wiring provides by name."""
        return self._services

    def emit(self, kind: str, data: JsonObject) -> None:
        """Send something to whoever watches the run, masked."""
        if self._live.is_watched(self._attempt.run_id):
            masked = self._masker.value(data)
            assert isinstance(masked, dict)
            self._live.publish(
                Emitted(
                    run_id=self._attempt.run_id, path=self._attempt.path, kind=kind, data=masked
                )
            )

    def use(self, **amounts: float) -> None:
        """Count what the attempt used."""
        for name, amount in amounts.items():
            before = self.used.get(name, 0)
            assert isinstance(before, int | float)
            self.used[name] = before + amount

    def secret(self, name: str) -> str:
        """Return a secret's value, and mask it from now on."""
        if name not in self._attempt.secrets:
            raise StepError("internal", f"step {self._attempt.path} names no secret {name!r}")
        value = self._secrets(name)
        if value is None:
            raise StepError(
                "internal",
                f"the secret {name!r} is not set on this worker",
                remedy=f"set it in the environment as DAGFLOW_SECRET_{name}",
            )
        self.hide(value)
        return value

    def hide(self, secret: str) -> None:
        """Mask this from now on."""
        self._masker.add(secret)

    def resolve_secrets(self, value: JsonValue) -> JsonValue:
        """Return the value with its references replaced by secrets."""
        return resolved(value, self.secret)

    def mask(self, value: JsonValue) -> JsonValue:
        """Return the value without the secrets that this attempt resolved."""
        return self._masker.value(value)

    def mask_cut(self, text: str) -> str:
        """Return text that was cut without them, and without what the cut has left of them."""
        return self._masker.cut_text(text)
