"""A model as it is kept ready: read from its GGUF once, then mapped from the cache."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final, Literal, TypeAlias

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from dagflow.llm.models.config import ModelConfig, config_from_json, config_to_json
from dagflow.llm.models.gguf import GgufFile
from dagflow.llm.models.linear import four_bit_works, linears
from dagflow.llm.models.llama import Llama
from dagflow.llm.tokenizer import Tokenizer, build, load

LOG = logging.getLogger(__name__)

Precision: TypeAlias = Literal["auto", "float32", "bfloat16"]
"""`float32` is exact. `bfloat16` halves memory. `auto` takes what is fast here: bfloat16 where
the processor multiplies it, float32 where it doesn't, and four-bit products for decoding where
the file's own weights are four-bit."""

FORM: Final = 1
"""Grows when what is kept changes, so that an older cache is not read."""

Tensors: TypeAlias = Mapping[str, torch.Tensor]

_STACKED: Final[Mapping[str, tuple[str, ...]]] = {
    "qkv": ("attn_q", "attn_k", "attn_v"),
    "out": ("attn_output",),
    "up": ("ffn_gate", "ffn_up"),
    "down": ("ffn_down",),
}
_NORMS: Final = {"norm": "attn_norm", "norm_up": "ffn_norm"}


@dataclass(frozen=True, slots=True)
class Loaded:
    """A model in memory, with its tokenizer."""

    config: ModelConfig
    tokenizer: Tokenizer
    network: Llama


def load_model(path: Path, cache: Path, precision: Precision = "auto") -> Loaded:
    """Return the model in the GGUF file at `path`, through the folder `cache`.

    The first load of a file takes several times as long. A cache that can't be written costs
    that time again, with a warning; one that can't be read is made anew.
    """
    with _one_thread():
        return _load(path, cache, precision)


@contextmanager
def _one_thread() -> Iterator[None]:
    """Copy and convert on one thread: on a busy machine, waiting for others costs ten times."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _load(path: Path, cache: Path, precision: Precision) -> Loaded:
    source = _Source(path)
    folder = cache / "models" / f"{_digest(path)[:32]}-{FORM}"
    dtype = _dense(precision)
    about = _about(source, folder)
    weights = _tensors(folder / f"{str(dtype).removeprefix('torch.')}.safetensors",
                       lambda: source.dense(dtype))  # fmt: skip
    quants: Tensors = {}
    if precision == "auto" and four_bit_works():
        quants = _tensors(folder / "four-bit.safetensors", source.four_bit)
    network = Llama(about[0], weights, linears(weights, quants))
    return Loaded(*about, network)


def _dense(precision: Precision) -> torch.dtype:
    if precision == "float32":
        return torch.float32
    return torch.bfloat16 if precision == "bfloat16" or _multiplies_bfloat16() else torch.float32


def _multiplies_bfloat16() -> bool:
    # where it doesn't, a bfloat16 product of many rows takes seven times as long as float32
    try:
        return bool(torch.ops.mkldnn._is_mkldnn_bf16_supported())  # noqa: SLF001
    except (AttributeError, RuntimeError):
        return False


class _Source:
    """The GGUF file, opened only when the cache lacks something."""

    def __init__(self, path: Path) -> None:
        self._path = path

    @cached_property
    def file(self) -> GgufFile:
        return GgufFile(self._path)

    def dense(self, dtype: torch.dtype) -> dict[str, torch.Tensor]:
        """Return all weights in one precision, those that are used together stacked."""
        found = dict(self.file.tensors())
        kept = {"embed": found["token_embd.weight"], "norm": found["output_norm.weight"]}
        if "output.weight" in found:
            kept["head"] = found["output.weight"]
        for index in range(self.file.config().layers):
            for name, parts in _STACKED.items():
                stack = [found.pop(f"blk.{index}.{part}.weight") for part in parts]
                kept[f"{index}.{name}"] = torch.cat(stack)
            for name, part in _NORMS.items():
                kept[f"{index}.{name}"] = found[f"blk.{index}.{part}.weight"]
        return {name: tensor.to(dtype).contiguous() for name, tensor in kept.items()}

    def four_bit(self) -> dict[str, torch.Tensor]:
        """Return the four-bit matrices of the layers, where all parts of a stack are."""
        found = self.file.quants()
        kept = {}
        for index in range(self.file.config().layers):
            for name, parts in _STACKED.items():
                stack = [found.get(f"blk.{index}.{part}.weight") for part in parts]
                whole = [part for part in stack if part is not None]
                if len(whole) == len(parts):
                    kept[f"{index}.{name}.levels"] = torch.cat([p.levels for p in whole])
                    kept[f"{index}.{name}.scale"] = torch.cat([p.scale for p in whole])
                    kept[f"{index}.{name}.least"] = torch.cat([p.least for p in whole])
        return kept


def _about(source: _Source, folder: Path) -> tuple[ModelConfig, Tokenizer]:
    described, tokens = folder / "model.json", folder / "tokenizer.json"
    try:
        return config_from_json(json.loads(described.read_bytes())), load(tokens)
    except FileNotFoundError:
        pass
    except Exception as error:  # noqa: BLE001  # `tokenizers` raises bare Exception
        LOG.warning("the cached description in %s can't be read (%s): made anew", folder, error)
    config, tokenizer = source.file.config(), build(source.file.vocabulary())
    _keep(tokens, tokenizer.save)
    _keep(described, lambda path: path.write_text(json.dumps(config_to_json(config))))
    return config, tokenizer


def _tensors(path: Path, make: Callable[[], Tensors]) -> Tensors:
    with suppress(FileNotFoundError):
        try:
            return load_file(path)
        except (SafetensorError, OSError) as error:
            if isinstance(error, FileNotFoundError):
                raise
            LOG.warning("the cached weights %s can't be read (%s): made anew", path, error)
    made = make()
    _keep(path, lambda target: save_file(dict(made), target))
    return made


def _keep(path: Path, write: Callable[[Path], object]) -> None:
    """Write a file whole or not at all; of two processes that write the same, the last stays."""
    try:
        with _replacing(path) as target:
            write(target)
    except (OSError, SafetensorError) as error:
        LOG.warning("the model can't be kept in %s (%s): the next start is slow, too; "
                    "point DAGFLOW_CACHE to a folder with room", path.parent, error)  # fmt: skip


@contextmanager
def _replacing(path: Path) -> Iterator[Path]:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    os.close(handle)
    target = Path(name)
    try:
        yield target
        target.replace(path)
    finally:
        target.unlink(missing_ok=True)


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


__all__: Sequence[str] = ["Loaded", "Precision", "load_model"]
