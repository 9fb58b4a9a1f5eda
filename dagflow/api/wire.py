"""What goes over the wire: request bodies, checked, with their limits."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

Text = Annotated[str, Field(max_length=4000)]
Label = Annotated[str, Field(min_length=1, max_length=200)]


GraphFormat: TypeAlias = Literal["svg", "mermaid", "dot"]
RunStatus: TypeAlias = Literal[
    "queued", "running", "waiting", "paused", "finishing",
    "succeeded", "failed", "timed_out", "cancelled",
]  # fmt: skip


class Body(BaseModel):
    """A request body: unknown fields are refused, so that a typo is told."""

    model_config = ConfigDict(extra="forbid", strict=True)


class CheckBody(Body):
    """A workflow to check, with the OpenAPI documents of its tools by name."""

    workflow: Annotated[str, Field(max_length=1_048_576)]
    documents: dict[str, str] = {}


class SubmitBody(Body):
    """A run to start. `deadline` is in seconds from now and can only shorten the plan's."""

    workflow: Label
    version: Label | None = None
    inputs: dict[str, Any] = {}
    deadline: Annotated[float, Field(gt=0, le=31_536_000)] | None = None


class CancelBody(Body):
    """Why a run is cancelled."""

    by: Text = ""
    reason: Text = ""


class DecisionBody(Body):
    """A person's answer to an approval. `arguments` is the hash of what was shown."""

    approve: bool
    by: Label
    comment: Text = ""
    arguments: Annotated[str, Field(min_length=1, max_length=100)]


class SettleBody(Body):
    """A person's word on a step whose outcome is unknown. `output` only where it succeeded."""

    succeeded: bool
    output: Any = None
    by: Label


class SignalBody(Body):
    """A signal's payload."""

    payload: Any = None
