"""The loop of one generation, in steps that a scheduler can stop between."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator
from typing import Protocol

from dagflow.llm.engine.sequence import Sequence
from dagflow.llm.engine.text import TextStream
from dagflow.llm.protocol import ChatChunk


class Runner(Protocol):
    """What computes: it holds the memory of one sequence at a time."""

    def begin(self, sequence: Sequence) -> None:
        """Make `sequence` the one that is computed; what its prompt shares is not done again."""
        ...

    def step(self, sequence: Sequence) -> int | None:
        """Take in the next tokens, boundedly many; return the chosen token once all are in."""
        ...


def generate(
    runner: Runner,
    sequence: Sequence,
    text: TextStream,
    ends: Container[int],
    token_bytes: Callable[[int], bytes],
) -> Iterator[ChatChunk]:
    """Yield a chunk after every step of the runner (often an empty one), the last with usage."""
    runner.begin(sequence)
    new = [] if sequence.constraint is None else _add(sequence, sequence.constraint.begin())
    while True:
        pieces = [text.push(token_bytes(token)) for token in new]
        if text.stopped:
            sequence.finish = "stop"
        if sequence.finish is not None:
            break
        yield ChatChunk("".join(pieces))
        token = runner.step(sequence)
        new = [] if token is None else _accept(sequence, token, ends)
    yield ChatChunk("".join(pieces) + text.finish(), sequence.finish, sequence.usage)


def _accept(sequence: Sequence, token: int, ends: Container[int]) -> list[int]:
    """Add a chosen token, and what a grammar forces after it; return what is new."""
    if token in ends:
        sequence.finish = "stop"
        return []
    constraint = sequence.constraint
    return _add(sequence, [token] if constraint is None else [token, *constraint.take(token)])


def _add(sequence: Sequence, new: list[int]) -> list[int]:
    """Add tokens as far as there is room, and set `finish` when no more can come."""
    room = sequence.sampling.max_tokens - sequence.generated
    kept = new[:room]
    sequence.tokens += kept
    constraint = sequence.constraint if len(kept) == len(new) else None
    if constraint is not None and constraint.complete:
        sequence.finish = "stop"
    elif len(kept) == room:
        sequence.finish = "stop" if constraint is not None and constraint.may_end else "length"
    return kept
