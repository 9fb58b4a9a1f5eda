"""The Llama architecture: one sequence at a time over a key-value cache."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch.nn import functional

from dagflow.llm.models.config import ModelConfig
from dagflow.llm.models.linear import Linear


@dataclass(frozen=True, slots=True)
class Layer:
    """The weights of one layer; `qkv` and `up` are several matrices in one, stacked by rows."""

    norm: torch.Tensor
    qkv: Linear
    out: Linear
    norm_up: torch.Tensor
    up: Linear
    down: Linear


class KeyValues:
    """What attention remembers of the tokens so far, for one sequence of any length."""

    def __init__(self, config: ModelConfig, dtype: torch.dtype) -> None:
        shape = (config.layers, config.kv_heads, config.context, config.head_width)
        # not touched before it is written, so memory grows with the longest sequence only
        self.keys = torch.empty(shape, dtype=dtype)
        self.values = torch.empty(shape, dtype=dtype)


class Llama:
    """The network. `weights` are named as `models.weights` names them."""

    def __init__(self, config: ModelConfig, weights: Mapping[str, torch.Tensor],
                 linears: Mapping[str, Linear]) -> None:  # fmt: skip
        self.config = config
        self.dtype = weights["embed"].dtype
        self._embed = weights["embed"]
        self._norm = weights["norm"]
        self._head = weights["embed" if config.tied else "head"]
        self._layers = [
            Layer(
                norm=weights[f"{index}.norm"],
                qkv=linears[f"{index}.qkv"],
                out=linears[f"{index}.out"],
                norm_up=weights[f"{index}.norm_up"],
                up=linears[f"{index}.up"],
                down=linears[f"{index}.down"],
            )
            for index in range(config.layers)
        ]
        self._cos, self._sin = _angles(config, self.dtype)

    def forward(self, tokens: torch.Tensor, start: int, memory: KeyValues) -> torch.Tensor:
        """Take in `tokens` at positions `start`…, and return the logits after the last of them.

        `memory` must hold the positions before `start`, and then holds these, too.
        """
        x = functional.embedding(tokens, self._embed)
        end = start + len(tokens)
        cos, sin = self._cos[start:end, None], self._sin[start:end, None]
        for index, layer in enumerate(self._layers):
            keys, values = memory.keys[index], memory.values[index]
            queries, new_keys, new_values = self._project(layer, x, cos, sin)
            keys[:, start:end] = new_keys
            values[:, start:end] = new_values
            seen = attention(queries, keys[:, :end], values[:, :end], start)
            x = x + layer.out(seen.reshape(len(x), -1))
            gate, up = layer.up(self._normed(x, layer.norm_up)).chunk(2, -1)
            x = x + layer.down(functional.silu(gate) * up)
        return functional.linear(self._normed(x[-1:], self._norm), self._head)[0].float()

    def _normed(self, x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        return functional.rms_norm(x, (self.config.width,), weight, self.config.norm_epsilon)

    def _project(
        self, layer: Layer, x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Return queries [count, heads, width], keys and values [heads, count, width]."""
        heads, kv_heads = self.config.heads, self.config.kv_heads
        stacked = layer.qkv(self._normed(x, layer.norm))
        qkv = stacked.view(len(x), heads + 2 * kv_heads, self.config.head_width)
        turned = rotate(qkv[:, : heads + kv_heads], cos, sin)
        values = qkv[:, heads + kv_heads :]
        return turned[:, :heads], turned[:, heads:].transpose(0, 1), values.transpose(0, 1)


def attention(
    queries: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, start: int
) -> torch.Tensor:
    """Return what each query [count, heads, width] sees of the keys up to its own position."""
    count, heads, width = queries.shape
    kv_heads, end, _ = keys.shape
    if count == 1:
        # the heads of a group stand in for queries: one product a group, and no mask
        grouped = queries.view(1, kv_heads, heads // kv_heads, width)
        seen = functional.scaled_dot_product_attention(grouped, keys[None], values[None])
        return seen.reshape(1, heads, width)
    mask = None
    if start:
        mask = torch.ones(count, end, dtype=torch.bool).tril(start)
    seen = functional.scaled_dot_product_attention(
        queries.transpose(0, 1)[None],
        keys[None],
        values[None],
        attn_mask=mask,
        is_causal=mask is None,
        enable_gqa=True,
    )
    return seen[0].transpose(0, 1)


def rotate(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    """Turn each pair (i, i + half) of a head by its position's angle."""
    half = x.shape[-1] // 2
    crossed = torch.cat([-x[..., half:], x[..., :half]], -1)
    return x * cos + crossed * sin


def _angles(config: ModelConfig, dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor]:
    steps = torch.arange(0, config.head_width, 2, dtype=torch.float32) / config.head_width
    turns = torch.arange(config.context, dtype=torch.float32)[:, None] / config.rope_base**steps
    both = torch.cat([turns, turns], -1)
    return both.cos().to(dtype), both.sin().to(dtype)
