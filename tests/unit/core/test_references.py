"""References to secrets, and data beside them."""

from __future__ import annotations

import pytest

from dagflow.core.references import guarded, reference, references, resolved
from dagflow.core.values import JsonValue

SECRETS = {"ONE": "1", "TWO": "2"}


def test_references_are_found_and_resolved_wherever_they_stand() -> None:
    value: JsonValue = {"a": [f"x {reference('ONE')} y"], "b": reference("TWO"), "n": 1}

    assert references(value) == {"ONE", "TWO"}
    assert resolved(value, SECRETS.__getitem__) == {"a": ["x 1 y"], "b": "2", "n": 1}


@pytest.mark.parametrize(
    "data",
    [
        reference("ONE"),
        f"\ue000{reference('ONE')}",
        "\ue000",
        "\ue000\ue002",
        "\ue000\ue002secret:ONE\ue001",
        "\ue000\ue000\ue002\ue002\ue001",
        [{"a": reference("TWO")}, 1, None],
    ],
)
def test_guarded_data_holds_no_reference_and_is_itself_again_once_resolved(data: JsonValue) -> None:
    written = guarded(data)

    assert references(written) == set()
    assert resolved(written, SECRETS.__getitem__) == data


def test_parts_of_text_can_not_be_joined_to_a_reference() -> None:
    written = "".join(str(guarded(part)) for part in ("\ue000", "secret:ONE\ue001"))

    assert references(written) == set()


def test_data_without_the_mark_is_not_copied() -> None:
    data: JsonValue = {"a": ["b", {"c": "d"}]}

    assert guarded(data) is data
