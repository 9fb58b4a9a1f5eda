"""The runner of one sequence at a time, which keeps the prompt that the next one may share."""

from __future__ import annotations

from collections.abc import Sequence as Listed
from typing import Final

import torch

from dagflow.llm.engine.sequence import Sequence
from dagflow.llm.models.llama import KeyValues, Llama
from dagflow.llm.runner.sampler import choose

CHUNK: Final = 128
"""Tokens of a prompt taken in at once: what a cancel may have to wait for."""


class SingleRunner:
    """A `Runner` with room for one sequence of the model's whole context.

    Prompts are taken in by chunks that begin at multiples of `CHUNK`, and whole chunks are what
    a later prompt shares: each is computed from the same shapes whether the one before it was
    shared or not, so that an answer is the same to the bit, cold or warm.
    """

    def __init__(self, network: Llama) -> None:
        self._network = network
        self._memory = KeyValues(network.config, network.dtype)
        self._kept: list[int] = []
        self._generator = torch.Generator()

    def begin(self, sequence: Sequence) -> None:
        """Make `sequence` the one that is computed."""
        # the last token must be taken in again, for its logits
        shared = min(_shared(self._kept, sequence.prompt), len(sequence.prompt) - 1)
        sequence.done = sequence.cached = shared // CHUNK * CHUNK
        self._kept = list(sequence.prompt[: sequence.done])
        self._generator.manual_seed(sequence.sampling.seed)

    @torch.inference_mode()
    def step(self, sequence: Sequence) -> int | None:
        """Take in a chunk; return the chosen token once all are in."""
        start, end = sequence.done, min(sequence.done + CHUNK, len(sequence.tokens))
        taken = sequence.tokens[start:end]
        logits = self._network.forward(torch.tensor(taken), start, self._memory)
        sequence.done = end
        if len(taken) == CHUNK and start == len(self._kept) and end <= len(sequence.prompt):
            self._kept += taken
        if end < len(sequence.tokens):
            return None
        constraint = sequence.constraint
        allowed = None if constraint is None else constraint.allowed()
        return choose(logits, allowed, sequence.sampling, self._generator)


def _shared(one: Listed[int], other: Listed[int]) -> int:
    """Return how many tokens two sequences begin with in common."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((index for index, (a, b) in pairs if a != b), min(len(one), len(other)))
