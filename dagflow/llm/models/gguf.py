"""Reads a GGUF file: its configuration, its tokenizer and its tensors in full precision."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import torch

from dagflow.core.errors import UsageError
from dagflow.llm.models.config import ModelConfig
from dagflow.llm.tokenizer import Vocabulary

ARCHITECTURE: Final = "llama"
QUANTS: Final = ("F32", "F16", "BF16", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0")
_MISSING: Final = object()


class GgufFile:
    """An open GGUF file. Raises `UsageError` when it can't be read or used."""

    def __init__(self, path: Path) -> None:
        import gguf

        try:
            self._reader = gguf.GGUFReader(path)
        except (OSError, ValueError, IndexError, KeyError) as error:
            raise UsageError(
                f"{path} is not a GGUF file that can be read: {error}",
                remedy="install the model again, or name another file with --model",
            ) from error
        self._path = path
        self._cache: dict[str, Any] = {}
        architecture = self.field("general.architecture")
        if architecture != ARCHITECTURE:
            raise UsageError(
                f"{path.name} holds a model of architecture {architecture!r}; "
                f"only {ARCHITECTURE!r} can be run"
            )

    def field(self, name: str, default: Any = _MISSING) -> Any:
        """Return a metadata value. Without a default, a missing one raises `UsageError`."""
        if name not in self._cache:
            field = self._reader.fields.get(name)
            self._cache[name] = _MISSING if field is None else field.contents()
        found = self._cache[name]
        if found is not _MISSING:
            return found
        if default is _MISSING:
            raise UsageError(f"{self._path.name} lacks the metadata {name!r}")
        return default

    def config(self) -> ModelConfig:
        """Return the model's configuration."""
        heads = int(self.field("llama.attention.head_count"))
        width = int(self.field("llama.embedding_length"))
        tensors = {tensor.name for tensor in self._reader.tensors}
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
            tied="output.weight" not in tensors,
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
        config = self.config()
        heads = {"attn_q.weight": config.heads, "attn_k.weight": config.kv_heads}
        for tensor in self._reader.tensors:
            whole = self._dequantised(tensor)
            count = next((n for end, n in heads.items() if tensor.name.endswith(end)), None)
            yield tensor.name, whole if count is None else _by_halves(whole, count)

    def _dequantised(self, tensor: Any) -> torch.Tensor:
        import gguf
        import numpy as np

        if tensor.tensor_type.name not in QUANTS:
            raise UsageError(
                f"tensor {tensor.name!r} is quantised as {tensor.tensor_type.name}, "
                f"which can't be read (can: {', '.join(QUANTS)})"
            )
        values = gguf.dequantize(tensor.data, tensor.tensor_type)
        return torch.from_numpy(np.array(values, dtype=np.float32, order="C"))

    def quants(self) -> Mapping[str, Quantised]:
        """Return the weights that are four-bit (Q4_1) as such, in the same row order."""
        config = self.config()
        heads = {"attn_q.weight": config.heads, "attn_k.weight": config.kv_heads}
        found = {}
        for tensor in self._reader.tensors:
            if tensor.tensor_type.name != "Q4_1":
                continue
            count = next((n for end, n in heads.items() if tensor.name.endswith(end)), None)
            found[tensor.name] = _four_bit(tensor, count)
        return found


@dataclass(frozen=True, slots=True)
class Quantised:
    """A matrix in groups of 32 along its rows: weight = level · scale + least.

    `levels` are 0…15 in uint8, [rows, columns]; `scale` and `least` float32, [rows, groups].
    """

    levels: torch.Tensor
    scale: torch.Tensor
    least: torch.Tensor


def _four_bit(tensor: Any, heads: int | None) -> Quantised:
    import numpy as np

    columns = int(tensor.shape[0])
    # a block is a float16 scale, a float16 minimum, and 16 bytes: low nibbles first, then high
    blocks = np.array(tensor.data).reshape(-1, columns // 32, 20)
    halves = blocks[:, :, :4].copy().view(np.float16).astype(np.float32)
    packed = blocks[:, :, 4:]
    levels = np.concatenate([packed & 15, packed >> 4], axis=2).reshape(-1, columns)
    parts = [torch.from_numpy(levels), torch.from_numpy(halves[:, :, 0].copy()),
             torch.from_numpy(halves[:, :, 1].copy())]  # fmt: skip
    return Quantised(*(part if heads is None else _by_halves(part, heads) for part in parts))


def _by_halves(weight: torch.Tensor, heads: int) -> torch.Tensor:
    pairs = weight.reshape(heads, weight.shape[0] // heads // 2, 2, *weight.shape[1:])
    return pairs.transpose(1, 2).reshape(weight.shape).contiguous()
