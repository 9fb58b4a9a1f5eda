"""What a compilation leaves to the next: how much is saved, and what is forgotten."""

from __future__ import annotations

import gc
import threading

from benchmarks.check import workflow_of
from dagflow.compiler import compile_workflow
from dagflow.compiler.collecting import rarely_collecting
from dagflow.compiler.memory import Memory
from dagflow.core.source import Source
from dagflow.core.tool import ToolCatalog

STEPS = 60
TEXT = workflow_of(STEPS)
FIRST = TEXT.replace("transform: inputs.amount + 0\n", "transform: inputs.amount + 999\n", 1)


def remember(*texts: str) -> Memory:
    """Compile the texts one after the other with one memory, and return it."""
    memory = Memory()
    for text in texts:
        compile_workflow(Source("w.yaml", text), ToolCatalog(), memory=memory)
    return memory


def test_first_compilation_checks_every_expression() -> None:
    assert remember(TEXT).made("expressions") > STEPS


def test_moving_every_step_checks_none() -> None:
    assert (
        remember(TEXT, TEXT.replace("steps:", "\n# more room\n\nsteps:")).made("expressions") == 0
    )


def test_edit_of_one_step_checks_that_step_alone() -> None:
    assert FIRST != TEXT
    assert remember(TEXT, FIRST).made("expressions") == 1


def test_edit_of_one_guard_proves_that_guard_alone() -> None:
    memory = remember(TEXT, TEXT.replace("when: inputs.amount == ", "when: inputs.amount == 1", 1))

    assert memory.made("expressions") == 1
    assert memory.made("guards") <= 4


def test_rename_checks_those_who_speak_of_the_step() -> None:
    renamed = TEXT.replace("  s57:", "  last:").replace("steps.?s57.", "steps.?last.")

    assert remember(TEXT, renamed).made("expressions") <= 4


def test_new_type_of_what_a_step_gives_checks_its_readers() -> None:
    text = TEXT.replace("inputs.amount + 56\n", "inputs.amount * 0.5\n")

    assert text != TEXT
    assert remember(TEXT, text).made("expressions") == 4


def test_file_that_was_broken_and_is_mended_checks_nothing_anew() -> None:
    assert remember(TEXT, TEXT + "}", TEXT).made("expressions") == 0


def test_what_is_not_used_again_is_forgotten() -> None:
    small = workflow_of(4)
    memory = remember(TEXT, small, small)

    assert len(memory) == len(remember(small, small))


def test_memory_does_not_grow_with_edits() -> None:
    edits = [TEXT.replace("orValue(0)", f"orValue({number})", 1) for number in range(20)]

    assert len(remember(*edits)) <= len(remember(TEXT)) * 1.1


def test_called_file_has_a_memory_of_its_own() -> None:
    memory = Memory()

    assert memory.of("./child.yaml") is memory.of("./child.yaml")
    assert memory.of("./child.yaml") is not memory.of("./other.yaml")


def test_order_of_an_objects_keys_counts() -> None:
    memory = Memory()
    one, same, other = {"a": 1, "b": 2}, {"a": 1, "b": 2}, {"b": 2, "a": 1}

    assert memory.number(one) == memory.number(same)
    assert memory.number(one) != memory.number(other)
    assert memory.number({"const": 1}) != memory.number({"const": True})
    assert memory.number({"const": 1}) != memory.number({"const": 1.0})


def test_collector_runs_as_before_when_the_last_compilation_ends() -> None:
    before = gc.get_threshold()
    inside, ended = threading.Event(), threading.Event()

    def other() -> None:
        with rarely_collecting():
            inside.set()
            ended.wait(5)

    thread = threading.Thread(target=other)
    with rarely_collecting():
        thread.start()
        inside.wait(5)
    assert gc.get_threshold() != before
    ended.set()
    thread.join()

    assert gc.get_threshold() == before
