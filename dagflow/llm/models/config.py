"""What a model file says about itself, as plain values."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from dagflow.core.values import JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelConfig:
    """Shapes of a Llama, and what its tokenizer and chat template need.

    `width` is that of the residual stream, `hidden` of the feed-forward layer; `eos` the tokens
    that end an answer.
    """

    name: str
    layers: int
    width: int
    hidden: int
    heads: int
    kv_heads: int
    head_width: int
    context: int
    vocabulary: int
    norm_epsilon: float
    rope_base: float
    tied: bool
    eos: tuple[int, ...]
    bos: int | None
    add_bos: bool
    chat_template: str


def config_to_json(config: ModelConfig) -> JsonObject:
    """Return the configuration as JSON."""
    return {**asdict(config), "eos": list(config.eos)}


def config_from_json(value: JsonObject) -> ModelConfig:
    """Return what `config_to_json` wrote; anything else raises `TypeError`."""
    eos = value.get("eos")
    fields = {**value, "eos": tuple(eos) if isinstance(eos, list) else ()}
    return ModelConfig(**fields)  # type: ignore[arg-type]  # only our own file is read
