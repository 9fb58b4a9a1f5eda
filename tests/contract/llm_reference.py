"""A second, plain implementation of the network: numpy, its own GGUF reader, no cache.

It shares nothing with the product: tensors are read by other code, and heads are turned in the
file's own interleaved order instead of being reordered.
"""

from __future__ import annotations

import math
import struct
from pathlib import Path
from typing import Any

import numpy as np
import torch

_FORMATS = "BbHhIif?"


class Reference:
    """The model in a GGUF file with Q4_1, Q8_0 and F32 tensors."""

    def __init__(self, path: Path) -> None:
        self._data = np.memmap(path, np.uint8, "r")
        self._at = 0
        self.facts: dict[str, Any] = {}
        _, _, tensors, facts = self._take("<IIQQ")
        for _ in range(facts):
            name = self._text()
            self.facts[name] = self._value(self._take("<I")[0])
        infos = [self._info() for _ in range(tensors)]
        base = -(-self._at // 32) * 32
        self._places = {name: (shape, kind, base + at) for name, shape, kind, at in infos}
        self._kept: dict[str, np.ndarray] = {}

    def _take(self, form: str) -> tuple[Any, ...]:
        size = struct.calcsize(form)
        found = struct.unpack(form, self._data[self._at : self._at + size].tobytes())
        self._at += size
        return found

    def _text(self) -> str:
        (size,) = self._take("<Q")
        self._at += size
        return self._data[self._at - size : self._at].tobytes().decode()

    def _value(self, kind: int) -> Any:
        if kind == 8:
            return self._text()
        if kind == 9:
            inner, count = self._take("<IQ")
            return [self._value(inner) for _ in range(count)]
        return self._take("<" + {10: "Q", 11: "q", 12: "d"}.get(kind, _FORMATS[kind % 8]))[0]

    def _info(self) -> tuple[str, tuple[int, ...], int, int]:
        name = self._text()
        (count,) = self._take("<I")
        shape = self._take(f"<{count}Q")
        kind, at = self._take("<IQ")
        return name, shape[::-1], kind, at

    def weight(self, name: str) -> np.ndarray:
        """Return a tensor in float32."""
        if name not in self._kept:
            self._kept[name] = self._read(*self._places[name])
        return self._kept[name]

    def _read(self, shape: tuple[int, ...], kind: int, at: int) -> np.ndarray:
        count = int(np.prod(shape))
        if kind == 0:
            return self._data[at : at + 4 * count].copy().view(np.float32).reshape(shape)
        if kind == 8:
            rows = self._data[at : at + count // 32 * 34].reshape(-1, 34)
            scale = rows[:, :2].copy().view(np.float16).astype(np.float32)
            return (rows[:, 2:].copy().view(np.int8) * scale).reshape(shape)
        assert kind == 3
        rows = self._data[at : at + count // 32 * 20].reshape(-1, 20)
        pair = rows[:, :4].copy().view(np.float16).astype(np.float32)
        low, high = rows[:, 4:] & 15, rows[:, 4:] >> 4
        levels = np.concatenate([low, high], 1).astype(np.float32)
        return (levels * pair[:, :1] + pair[:, 1:]).reshape(shape)

    def logits(self, tokens: list[int]) -> np.ndarray:
        """Return the logits after each token, [tokens, vocabulary]."""
        heads, kv_heads = (self.facts[f"llama.attention.head_count{end}"] for end in ("", "_kv"))
        x = self.weight("token_embd.weight")[tokens]
        width = x.shape[1] // heads
        for layer in range(self.facts["llama.block_count"]):
            w = {
                name: self.weight(f"blk.{layer}.{name}.weight")
                for name in ("attn_norm", "attn_q", "attn_k", "attn_v", "attn_output",
                             "ffn_norm", "ffn_gate", "ffn_up", "ffn_down")
            }  # fmt: skip
            y = self._normed(x, w["attn_norm"])
            q = self._turned(_by(y, w["attn_q"]).reshape(-1, heads, width))
            k = self._turned(_by(y, w["attn_k"]).reshape(-1, kv_heads, width))
            v = _by(y, w["attn_v"]).reshape(-1, kv_heads, width)
            seen = [_seen(q[:, h], k[:, h * kv_heads // heads], v[:, h * kv_heads // heads])
                    for h in range(heads)]  # fmt: skip
            x = x + _by(np.concatenate(seen, 1), w["attn_output"])
            y = self._normed(x, w["ffn_norm"])
            gate = _by(y, w["ffn_gate"])
            x = x + _by(gate / (1 + np.exp(-gate)) * _by(y, w["ffn_up"]), w["ffn_down"])
        return _by(
            self._normed(x, self.weight("output_norm.weight")), self.weight("token_embd.weight")
        )

    def _normed(self, x: np.ndarray, weight: np.ndarray) -> np.ndarray:
        epsilon = self.facts["llama.attention.layer_norm_rms_epsilon"]
        return x / np.sqrt((x * x).mean(-1, keepdims=True) + epsilon) * weight

    def _turned(self, x: np.ndarray) -> np.ndarray:
        count, _, width = x.shape
        base = self.facts["llama.rope.freq_base"]
        angles = np.arange(count)[:, None] * base ** (-np.arange(0, width, 2) / width)
        turns = np.exp(1j * angles)[:, None, :]
        pairs = (x[..., 0::2] + 1j * x[..., 1::2]) * turns
        return np.stack([pairs.real, pairs.imag], -1).reshape(x.shape).astype(np.float32)


def _by(x: np.ndarray, weight: np.ndarray) -> np.ndarray:
    # numpy's own product spins on every core, which a busy machine pays for tenfold
    return (torch.from_numpy(x) @ torch.from_numpy(weight).T).numpy()


def _seen(q: np.ndarray, k: np.ndarray, v: np.ndarray) -> np.ndarray:
    scores = q @ k.T / math.sqrt(q.shape[1])
    scores[np.triu_indices(len(q), 1)] = -np.inf
    weights = np.exp(scores - scores.max(1, keepdims=True))
    return weights / weights.sum(1, keepdims=True) @ v
