from __future__ import annotations

import pytest

from dagflow.expr.activation import restrict
from tests.unit.expr.scopes import checked

OUT = ("steps", "fetch", "output")


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("steps.fetch.output.body", (*OUT, "body")),
        ('steps["fetch"].output.body', (*OUT, "body")),
        ('steps.fetch["output"]["body"]', (*OUT, "body")),
        ("steps.`my-step`.output", ("steps", "my-step", "output")),
        ("steps.fetch.output.items[0].name", (*OUT, "items")),
        ("steps.fetch.output.items.map(i, i.name)", (*OUT, "items")),
        ("steps.fetch.output.tree.kids.exists(k, k.v == 1)", (*OUT, "tree", "kids")),
        ("size(steps.fetch.output.body)", (*OUT, "body")),
        ("inputs", ("inputs",)),
    ],
)
def test_a_read_is_the_longest_constant_path(text: str, path: tuple[str, ...]) -> None:
    assert checked(text).paths == (path,)


@pytest.mark.parametrize(
    ("text", "optional"),
    [
        ("steps.fetch.output.body", False),
        ("steps.?fetch.output.?body.orValue('')", True),
        ("steps.fetch.?output.?body.orValue('')", True),
        ("steps.fetch.output.?extra.orValue('')", False),
        ("steps.fetch.output[?'extra'].orValue('')", False),
        ("steps.fetch[?'output'].orValue({})", True),
        ("has(steps.fetch.output)", True),
        ("has(steps.fetch.output.extra)", False),
        ("inputs.?text.orValue('')", True),
    ],
)
def test_a_read_is_optional_where_the_mark_covers_the_steps_field(
    text: str, optional: bool
) -> None:
    (read,) = checked(text).reads

    assert read.optional is optional


@pytest.mark.parametrize(
    "text",
    [
        'steps.fetch.status == "succeeded" && steps.fetch.output.count > 1',
        'steps.fetch.output.count > 1 && steps.fetch.status == "succeeded"',
        'steps.fetch.status != "succeeded" || steps.fetch.output.count > 1',
        'steps.fetch.output.count > 1 || !(steps.fetch.status == "succeeded")',
        'steps.fetch.status == "succeeded" ? steps.fetch.output.count : 0',
        'steps.fetch.status != "succeeded" ? 0 : steps.fetch.output.count',
        'steps.fetch.status in ["succeeded"] && steps.fetch.output.count > 1',
        'steps["fetch"].status == "succeeded" && steps.fetch.output.count > 1',
        'inputs.flag && (steps.fetch.status == "succeeded" && inputs.x > steps.fetch.output.count)',
        "has(steps.fetch.output) && steps.fetch.output.count > 1",
        "has(steps.fetch.output.extra) && steps.fetch.output.count > 1",
        '[1].exists(n, steps.fetch.status == "succeeded" && steps.fetch.output.count > n)',
        'steps.fetch.status == "succeeded" ? [1].map(n, n + steps.fetch.output.count) : []',
    ],
)
def test_a_read_under_a_test_of_success_is_tested(text: str) -> None:
    reads = [read for read in checked(text).reads if read.path == (*OUT, "count")]

    assert [read.tested for read in reads] == [True]


@pytest.mark.parametrize(
    "text",
    [
        "steps.fetch.output.count > 1",
        'steps.fetch.status == "succeeded" || steps.fetch.output.count > 1',
        'steps.fetch.status == "failed" ? 0 : steps.fetch.output.count',
        'steps.fetch.status != "failed" && steps.fetch.output.count > 1',
        'steps.loop.status == "succeeded" && steps.fetch.output.count > 1',
        'steps.fetch.status == "succeeded" ? 0 : steps.fetch.output.count',
        '(steps.fetch.status == "succeeded" || inputs.flag) && steps.fetch.output.count > 1',
        "steps.fetch.output.count > 1 && has(steps.fetch.output.extra)",
    ],
)
def test_a_read_that_may_happen_without_success_is_not_tested(text: str) -> None:
    reads = [read for read in checked(text).reads if read.path == (*OUT, "count")]

    assert [read.tested for read in reads] == [False]


def test_a_read_knows_its_place_in_the_text() -> None:
    text = "inputs.x > 1 && steps.fetch.output.items[0].price > 2"

    reads = checked(text).reads

    assert [text[read.offset : read.offset + read.length] for read in reads] == [
        "inputs.x",
        "steps.fetch.output.items",
    ]


def test_a_loops_variable_hides_one_of_the_scope() -> None:
    assert checked("[1, 2].map(inputs, inputs + 1)").reads == ()


def test_restrict_keeps_what_is_read_and_nothing_else() -> None:
    full = {
        "inputs": {"x": 1, "y": 2},
        "steps": {
            "a": {"status": "failed"},
            "b": {"status": "succeeded", "output": {"p": 1, "q": 2}},
        },
    }

    found = restrict(
        [("inputs", "x"), ("steps", "a", "output", "z"), ("steps", "b", "output", "q")], full
    )

    assert found == {"inputs": {"x": 1}, "steps": {"a": {}, "b": {"output": {"q": 2}}}}


@pytest.mark.parametrize("paths", [[("a",), ("a", "b")], [("a", "b"), ("a",)]])
def test_restrict_takes_a_whole_value_where_a_shorter_path_asks_for_it(paths: list) -> None:
    assert restrict(paths, {"a": {"b": 1, "c": 2}, "d": 3}) == {"a": {"b": 1, "c": 2}}


def test_restrict_leaves_what_is_no_object_as_it_is() -> None:
    assert restrict([("a", "b", "c")], {"a": {"b": None}}) == {"a": {"b": None}}
    assert restrict([("a", "b", "c")], {"a": [1]}) == {"a": [1]}
