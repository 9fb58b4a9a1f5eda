"""`llm`: one generation by a language model, constrained to the step's output schema."""

from __future__ import annotations

from datetime import timedelta

from dagflow.core.node import Node
from dagflow.core.records import dataclass
from dagflow.core.shape import Choice, Int, ListOf, Name, Number, Record, Str, Template, shaped
from dagflow.core.source import NOWHERE, At, Span
from dagflow.core.steps.kind import StepKind


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One message of a chat."""

    role: At[str] = shaped(Choice(("system", "user", "assistant")), "who speaks")
    content: Node = shaped(Template(text=True), "what is said")
    span: Span = NOWHERE


@dataclass(frozen=True, slots=True, kw_only=True)
class Llm:
    """Either `prompt` (with `system`) or `messages`."""

    model: At[str] | None = shaped(
        Name(), "a name under `models` (default `default`)", default=None
    )
    system: Node | None = shaped(Template(text=True), "system message", default=None)
    prompt: Node | None = shaped(Template(text=True), "user message", default=None)
    messages: tuple[Message, ...] = shaped(
        ListOf(Record(Message)), "a whole chat, instead of prompt and system", default=()
    )
    max_tokens: At[int] | None = shaped(
        Int(minimum=1, maximum=131_072), "bound of the answer (default 512)", default=None
    )
    temperature: At[float] | None = shaped(
        Number(minimum=0, maximum=2), "0 is greedy (default 0)", default=None
    )
    top_p: At[float] | None = shaped(Number(minimum=0, maximum=1), "nucleus", default=None)
    seed: At[int] | None = shaped(Int(), "seed of sampling", default=None)
    stop: tuple[At[str], ...] = shaped(
        ListOf(Str(), single=True), "texts that end the answer", default=()
    )
    span: Span = NOWHERE


KIND = StepKind("llm", Llm, "prompt", "idempotent", "generate", timedelta(seconds=120))
