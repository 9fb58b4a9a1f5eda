"""Reads a GGUF file: its configuration, its tokenizer and its tensors in full precision."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias

import gguf
import numpy as np
import torch

from dagflow.core.errors import UsageError
from dagflow.llm.models.config import ModelConfig
from dagflow.llm.models.header import Place, read_header
from dagflow.llm.tokenizer import Vocabulary

ARCHITECTURE: Final = "llama"
QUANTS: Final = ("F32", "F16", "BF16", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0")
_MISSING: Final = object()


class GgufFile:
    """An open GGUF file. Raises `UsageError` when it can't be read or used."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self._bytes = np.memmap(path, np.uint8, "r")
            header = read_header(self._bytes.data)
        except (OSError, ValueError) as error:
            raise UsageError(
                f"{path} is not a GGUF file that can be read: {error}",
                remedy="install the model again, or name another file with --model",
            ) from error
        self._facts, self._places = header.facts, header.tensors
        architecture = self.field("general.architecture")
        if architecture != ARCHITECTURE:
            raise UsageError(
                f"{path.name} holds a model of architecture {architecture!r}; "
                f"only {ARCHITECTURE!r} can be run"
            )

    def field(self, name: str, default: Any = _MISSING) -> Any:
        """Return a metadata value. Without a default, a missing one raises `UsageError`."""
        found = self._facts.get(name, default)
        if found is _MISSING:
            raise UsageError(f"{self._path.name} lacks the metadata {name!r}")
        return found

    def config(self) -> ModelConfig:
        """Return the model's configuration."""
        heads = int(self.field("llama.attention.head_count"))
        width = int(self.field("llama.embedding_length"))
        bos = self.field("tokenizer.ggml.bos_token_id", None)
        return ModelConfig(
            name=str(self.field("general.name", self._path.stem)),
            layers=int(self.field("llama.block_count")),
            width=width,
            hidden=int(self.field("llama.feed_forward_length")),
            heads=heads,
            kv_heads=int(self.field("llama.attention.head_count_kv", heads)),
            head_width=int(self.field("llama.rope.dimension_count", width // heads)),
            context=int(self.field("llama.context_length")),
            vocabulary=len(self.field("tokenizer.ggml.tokens")),
            norm_epsilon=float(self.field("llama.attention.layer_norm_rms_epsilon")),
            rope_base=float(self.field("llama.rope.freq_base", 10_000.0)),
            tied="output.weight" not in self._places,
            eos=self._ends(),
            bos=None if bos is None else int(bos),
            add_bos=bool(self.field("tokenizer.ggml.add_bos_token", False)),
            chat_template=str(self.field("tokenizer.chat_template")),
        )

    def _ends(self) -> tuple[int, ...]:
        names = ("tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id")
        found = [self.field(name, None) for name in names]
        return tuple(dict.fromkeys(int(token) for token in found if token is not None))

    def vocabulary(self) -> Vocabulary:
        """Return what the tokenizer is built from."""
        return Vocabulary(
            model=str(self.field("tokenizer.ggml.model")),
            splitter=str(self.field("tokenizer.ggml.pre", "default")),
            tokens=tuple(self.field("tokenizer.ggml.tokens")),
            kinds=tuple(self.field("tokenizer.ggml.token_type")),
            merges=tuple(self.field("tokenizer.ggml.merges")),
        )

    def tensors(self) -> Iterator[tuple[str, torch.Tensor]]:
        """Yield each tensor by its GGUF name, dequantised to float32 without loss.

        Rows of `attn_q` and `attn_k` come in the order of the halves that `rotate` turns, not
        in GGUF's interleaved one.
        """
        for name, place in self._places.items():
            yield name, self._ordered(name, self._dequantised(name, place))

    def _ordered(self, name: str, weight: torch.Tensor) -> torch.Tensor:
        config = self.config()
        heads = {"attn_q.weight": config.heads, "attn_k.weight": config.kv_heads}
        count = next((n for end, n in heads.items() if name.endswith(end)), None)
        return weight if count is None else _by_halves(weight, count)

    def _blocks(self, name: str, place: Place) -> Blocks:
        """Return a tensor's bytes, [blocks, bytes of a block]."""
        items, size = gguf.GGML_QUANT_SIZES[gguf.GGMLQuantizationType(place.kind)]
        count = math.prod(place.shape) // items
        end = place.start + count * size
        if end > len(self._bytes):
            raise UsageError(
                f"{self._path.name} ends before its tensor {name!r}",
                remedy="the file is cut off: install the model again",
            )
        return np.asarray(self._bytes[place.start : end]).reshape(count, size)

    def _dequantised(self, name: str, place: Place) -> torch.Tensor:
        kind = _kind(place)
        if kind not in QUANTS:
            raise UsageError(
                f"tensor {name!r} is quantised as {kind}, "
                f"which can't be read (can: {', '.join(QUANTS)})"
            )
        blocks = self._blocks(name, place)
        quick = _QUICK.get(kind)
        if quick is not None:
            return quick(blocks).reshape(place.shape)
        values = gguf.dequantize(blocks, gguf.GGMLQuantizationType(place.kind))
        return torch.from_numpy(np.array(values, dtype=np.float32).reshape(place.shape))

    def quants(self) -> Mapping[str, Quantised]:
        """Return the weights that are four-bit (Q4_1) as such, in the same row order."""
        return {
            name: self._four_bit(name, place)
            for name, place in self._places.items()
            if _kind(place) == "Q4_1"
        }

    def _four_bit(self, name: str, place: Place) -> Quantised:
        levels, scale, least = _levels(self._blocks(name, place))
        rows = place.shape[0]
        parts = (levels, scale, least)
        return Quantised(*(self._ordered(name, part.reshape(rows, -1)) for part in parts))


@dataclass(frozen=True, slots=True)
class Quantised:
    """A matrix in groups of 32 along its rows: weight = level · scale + least.

    `levels` are 0…15 in uint8, [rows, columns]; `scale` and `least` float32, [rows, groups].
    """

    levels: torch.Tensor
    scale: torch.Tensor
    least: torch.Tensor


Blocks: TypeAlias = "np.ndarray[Any, Any]"


def _levels(blocks: Blocks) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return levels [blocks, 32], scales and minima [blocks, 1] of Q4_1.

    A block is a float16 scale, a float16 minimum, and 16 bytes: low nibbles first, then high.
    """
    halves = torch.from_numpy(blocks[:, :4].copy().view(np.float16)).float()
    packed = torch.from_numpy(blocks[:, 4:].copy())
    return torch.cat([packed & 15, packed >> 4], 1), halves[:, :1], halves[:, 1:]


def _q4_1(blocks: Blocks) -> torch.Tensor:
    levels, scale, least = _levels(blocks)
    return levels * scale + least


def _q8_0(blocks: Blocks) -> torch.Tensor:
    scale = torch.from_numpy(blocks[:, :2].copy().view(np.float16)).float()
    return torch.from_numpy(blocks[:, 2:].copy().view(np.int8)) * scale


def _f32(blocks: Blocks) -> torch.Tensor:
    return torch.from_numpy(blocks.copy().view(np.float32))


# the library's own loop goes by a few rows at a time: ten times slower on a whole model
_QUICK: Final[Mapping[str, Callable[[Blocks], torch.Tensor]]] = {
    "F32": _f32, "Q4_1": _q4_1, "Q8_0": _q8_0,
}  # fmt: skip


def _kind(place: Place) -> str:
    try:
        return gguf.GGMLQuantizationType(place.kind).name
    except ValueError:
        return f"type {place.kind}"


def _by_halves(weight: torch.Tensor, heads: int) -> torch.Tensor:
    pairs = weight.reshape(heads, weight.shape[0] // heads // 2, 2, *weight.shape[1:])
    return pairs.transpose(1, 2).reshape(weight.shape).contiguous()
