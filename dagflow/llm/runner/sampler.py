"""Chooses the next token from logits."""

from __future__ import annotations

import numpy as np
import torch

from dagflow.core.errors import StepError
from dagflow.llm.engine.sequence import Sampling


def choose(
    logits: torch.Tensor, allowed: bytes | None, sampling: Sampling, generator: torch.Generator
) -> int:
    """Return a token among the `allowed` (a bit for each), by `sampling`.

    Raises `StepError(model)` when there is none, or the network computed no numbers.
    """
    if allowed is not None:
        logits = _masked(logits, allowed)
    best = int(logits.argmax())
    if not torch.isfinite(logits[best]):
        raise StepError("model", "the model computed no token that may come next")
    if sampling.temperature == 0:
        return best
    weights = torch.softmax((logits - logits[best]) / sampling.temperature, -1)
    if sampling.top_p < 1:
        weights = _nucleus(weights, sampling.top_p)
    return int(torch.multinomial(weights, 1, generator=generator))


def _masked(logits: torch.Tensor, allowed: bytes) -> torch.Tensor:
    bits = np.unpackbits(np.frombuffer(allowed, np.uint8), bitorder="little")[: len(logits)]
    return logits.masked_fill(torch.from_numpy(bits == 0), -torch.inf)


def _nucleus(weights: torch.Tensor, top_p: float) -> torch.Tensor:
    """Keep the likeliest tokens up to the one with which they reach `top_p`."""
    ordered, places = weights.sort(descending=True)
    is_past = ordered.cumsum(-1) - ordered >= top_p
    is_past[0] = False
    return weights.scatter(-1, places, ordered.masked_fill(is_past, 0.0))
