"""Matrix products: dense for many rows, four-bit for the few rows of decoding."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch.nn import functional

FEW_ROWS = 8
"""Up to here the four-bit kernel wins: reading weights is what a product of few rows costs."""
GROUP = 32


@dataclass(frozen=True, slots=True)
class FourBit:
    """A matrix packed for this machine's kernel, with a scale and a zero for each group."""

    packed: torch.Tensor
    scales: torch.Tensor

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        """Return x · matrixᵀ, computed in bfloat16."""
        product = torch._weight_int4pack_mm_for_cpu(  # noqa: SLF001  # probed by `four_bit_works`
            x.bfloat16(), self.packed, GROUP, self.scales
        )
        return product.to(x.dtype)


@dataclass(frozen=True, slots=True)
class Linear:
    """x · weightᵀ; `few` computes it when x has few rows, where there is such a form."""

    weight: torch.Tensor
    few: FourBit | None = None

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        """Return x · weightᵀ, in the type of x."""
        if self.few is not None and len(x) <= FEW_ROWS:
            return self.few(x)
        return functional.linear(x, self.weight)


def pack(levels: torch.Tensor, scale: torch.Tensor, least: torch.Tensor) -> FourBit:
    """Pack weights of the form level · scale + least; the kernel counts levels from 8."""
    packed = torch._convert_weight_to_int4pack_for_cpu(  # noqa: SLF001
        levels.to(torch.int32), 1
    )
    zeros = least + 8 * scale
    return FourBit(packed, torch.stack([scale.T, zeros.T], -1).bfloat16().contiguous())


def four_bit_works() -> bool:
    """Tell whether this torch has the four-bit kernel on this machine, and it is right.

    The operators are private: torch may move or drop them, and then decoding is merely slower.
    """
    generator = torch.Generator().manual_seed(1)
    levels = torch.randint(0, 16, (64, 2 * GROUP), generator=generator, dtype=torch.uint8)
    scale = torch.rand(64, 2, generator=generator) / 16
    least = -8 * scale
    x = torch.rand(2, 2 * GROUP, generator=generator)
    try:
        found = pack(levels, scale, least)(x)
    except (AttributeError, RuntimeError, NotImplementedError, TypeError):
        # Dropped, not built for this processor, or called with other arguments: each torch says
        # it in its own way, and each means that the operator is not to be used.
        return False
    dense = levels.float() * scale.repeat_interleave(GROUP, 1) + least.repeat_interleave(GROUP, 1)
    wanted = x @ dense.T
    return bool((found - wanted).abs().max() <= 0.03 * wanted.abs().max())


def linears(
    weights: Mapping[str, torch.Tensor], quants: Mapping[str, torch.Tensor]
) -> dict[str, Linear]:
    """Return the matrices of all layers, with their four-bit form where `quants` has it."""
    return {
        name: Linear(weight, _few(name, quants))
        for name, weight in weights.items()
        if name.rpartition(".")[2] in {"qkv", "out", "up", "down"}
    }


def _few(name: str, quants: Mapping[str, torch.Tensor]) -> FourBit | None:
    if f"{name}.levels" not in quants:
        return None
    return pack(*(quants[f"{name}.{part}"] for part in ("levels", "scale", "least")))
