"""What every step kind says about itself."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Literal, TypeAlias

from dagflow.core.records import dataclass

Effects: TypeAlias = Literal["pure", "idempotent", "once"]


@dataclass(frozen=True, slots=True)
class StepKind:
    """One kind: the key it has in YAML, the dataclass of what stands under it, and its nature.

    `effects` is what running a step of this kind twice does where nothing says more (a tool's
    depend on the HTTP method, `python`/`shell` are `once` with network). `timeout` bounds one
    attempt by default; None: the kind needs no time of its own, or is bounded by its parts.
    `in_engine` kinds are decided by the engine itself and never reach a worker.
    """

    name: str
    body: type[Any]
    shorthand: str
    effects: Effects
    action: str
    timeout: timedelta | None = None
    in_engine: bool = False
    sandboxed: bool = False
