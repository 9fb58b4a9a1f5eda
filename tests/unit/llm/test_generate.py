"""The loop of one generation, over a runner that chooses fixed tokens."""

from __future__ import annotations

from collections.abc import Sequence as Listed

import pytest

from dagflow.llm.engine.generate import generate
from dagflow.llm.engine.sequence import Sampling, Sequence
from dagflow.llm.engine.text import TextStream
from dagflow.llm.protocol import ChatChunk, Usage
from tests.unit.llm.fakes import FakeConstraint, FakeRunner, text_of

END = 0


def run(
    tokens: list[int],
    *,
    limit: int = 10,
    stops: Listed[str] = (),
    constraint: FakeConstraint | None = None,
    prompt: Listed[int] = (1, 2, 3),
) -> tuple[list[ChatChunk], FakeRunner]:
    runner = FakeRunner(tokens)
    sequence = Sequence(prompt, Sampling(max_tokens=limit), constraint)
    steps = generate(
        runner, sequence, TextStream(stops), {END}, lambda t: b"" if t < 65 else bytes([t])
    )
    return list(steps), runner


def test_it_ends_with_the_models_end_which_is_not_shown() -> None:
    chunks, _ = run([*b"Hi", END, *b"never"])

    assert text_of(chunks) == "Hi"
    assert chunks[-1].finish_reason == "stop"
    assert chunks[-1].usage == Usage(3, 2, 0)


def test_it_is_cut_at_max_tokens_and_says_so() -> None:
    chunks, runner = run([*b"Hello"], limit=2)

    assert text_of(chunks) == "He"
    assert chunks[-1].finish_reason == "length"
    assert runner.steps == 2


def test_the_end_right_after_the_last_token_needs_room() -> None:
    chunks, _ = run([*b"Hi", END], limit=3)

    assert chunks[-1].finish_reason == "stop"


def test_a_stop_text_over_two_tokens_ends_it() -> None:
    chunks, runner = run([*b"aENDb"], stops=["ND"])

    assert text_of(chunks) == "aE"
    assert chunks[-1].finish_reason == "stop"
    assert runner.steps == 4


def test_a_long_prompt_is_taken_in_by_steps_that_can_be_stopped_between() -> None:
    chunks, runner = run([END], prompt=range(1, 11))

    assert runner.steps == 3
    assert len(chunks) == 4
    assert runner.fed == [*range(1, 11)]


def test_forced_tokens_are_shown_and_taken_in_but_not_chosen() -> None:
    constraint = FakeConstraint([*b"ab"], [*b"cde"], [*b"f"])

    chunks, runner = run([*b"cf"], constraint=constraint)

    assert text_of(chunks) == "abcdef"
    assert chunks[-1].finish_reason == "stop"
    assert chunks[-1].usage == Usage(3, 6, 0)
    assert bytes(runner.fed[3:]) == b"abcde"


def test_a_text_that_is_forced_as_a_whole_needs_no_step() -> None:
    chunks, runner = run([], constraint=FakeConstraint([*b"ab"]))

    assert text_of(chunks) == "ab"
    assert chunks[-1].finish_reason == "stop"
    assert runner.steps == 0


@pytest.mark.parametrize(("limit", "text", "finish"), [(3, "abc", "length"), (5, "abcde", "stop")])
def test_forced_tokens_count_for_max_tokens(limit: int, text: str, finish: str) -> None:
    chunks, _ = run([*b"c"], limit=limit, constraint=FakeConstraint([*b"ab"], [*b"cde"]))

    assert text_of(chunks) == text
    assert chunks[-1].finish_reason == finish
