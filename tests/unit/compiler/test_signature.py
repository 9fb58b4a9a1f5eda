from __future__ import annotations

from itertools import combinations

import pytest

from dagflow.compiler.types.signature import signature_of
from dagflow.core.node import Scalar
from dagflow.core.source import NOWHERE, Source

NAMES = ("a", "b", "c", "d")


@pytest.mark.parametrize(
    "parameters",
    [
        "",
        "a, b",
        "a, b=1",
        "a=1, /, b=2, c=3, d=4",
        "a=1, /, b=2, *, c",
        "a=1, b=2, /, *, c, d=3",
        "a=1, /, **more",
        "*, a, b=None",
        "*rest, a",
        "a, *rest, b, **more",
        "a, /",
        "a, b=1, /, c=2",
        "a, /, **more",
        "a, /, b",
    ],
)
def test_signature_takes_what_a_call_by_names_takes(parameters: str) -> None:
    code = f"def main({parameters}): pass"
    found = signature_of(code, Scalar(code, NOWHERE), Source("test.yaml", code))
    scope: dict[str, object] = {}
    exec(code, scope)

    assert found is not None
    for given in (names for count in range(5) for names in combinations(NAMES, count)):
        fits = (
            found.problem is None
            and all(found.takes(name) for name in given)
            and set(found.required) <= set(given)
        )
        assert fits is can_be_called(scope["main"], given), given


def can_be_called(main: object, given: tuple[str, ...]) -> bool:
    assert callable(main)
    try:
        main(**dict.fromkeys(given, 1))
    except TypeError:
        return False
    return True


def test_parameter_that_no_name_can_give_is_said() -> None:
    code = "def main(a, /, b): pass"

    found = signature_of(code, Scalar(code, NOWHERE), Source("test.yaml", code))

    assert found is not None
    assert found.problem is not None
    assert found.problem.message == "`main` takes 'a' by its place only, and `with` gives names"
