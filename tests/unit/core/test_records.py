"""Our dataclass decorator beside the standard one: the same classes, whatever made them."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import weakref
from collections.abc import Callable
from typing import Any

import pytest

from dagflow.core import records


def point(decorator: Callable[..., Any]) -> Any:
    @decorator(frozen=True, slots=True, order=True)
    class Point:
        x: int
        y: int = 2
        tags: list[str] = dataclasses.field(default_factory=list, compare=False)
        cached: int = dataclasses.field(default=7, init=False, compare=False, repr=False)

        @property
        def total(self) -> int:
            return self.x + self.y

    return Point


def counter(decorator: Callable[..., Any]) -> Any:
    @decorator(slots=True, kw_only=True)
    class Counter:
        count: int
        step: int = 1
        seen: dict[str, int] = dataclasses.field(default_factory=dict)
        twice: int = dataclasses.field(init=False)

        def __post_init__(self) -> None:
            self.twice = self.count * 2

    return Counter


BOTH = pytest.mark.parametrize(
    "decorator", [dataclasses.dataclass, records.slotted], ids=["standard", "ours"]
)


@records.dataclass(slots=True, frozen=True)
class Named:
    name: str
    size: int = 0


@BOTH
def test_frozen_records_compare_hash_and_sort_by_their_compared_fields(decorator: Any) -> None:
    point_ = point(decorator)
    one, same, other = point_(1, tags=["a"]), point_(1), point_(0, 9)
    assert one == same
    assert hash(one) == hash(same)
    assert one != other
    assert sorted([one, other]) == [other, one]
    assert one >= same
    assert one != (1, 2)
    assert one.total == 3
    assert one.cached == 7
    with pytest.raises(TypeError):
        assert one < 3


@BOTH
def test_records_are_shown_replaced_matched_and_taken_apart(decorator: Any) -> None:
    one = point(decorator)(1, tags=["a"])
    assert repr(one).endswith("Point(x=1, y=2, tags=['a'])")
    assert dataclasses.replace(one, y=5).y == 5
    assert dataclasses.asdict(one) == {"x": 1, "y": 2, "tags": ["a"], "cached": 7}
    assert type(one).__match_args__ == ("x", "y", "tags")
    assert not hasattr(one, "__dict__")


@BOTH
def test_mutable_records_have_factories_keywords_and_no_hash(decorator: Any) -> None:
    counter_ = counter(decorator)
    one, two = counter_(count=1), counter_(count=1)
    one.seen["a"] = 1
    assert two.seen == {}
    assert one != two
    assert one.twice == 2
    with pytest.raises(TypeError):
        counter_(1)
    with pytest.raises(TypeError):
        hash(one)


@BOTH
@pytest.mark.parametrize(
    ("given", "named"), [((), {}), ((1, 2, [], 4), {}), ((1,), {"x": 1}), ((1,), {"z": 1})]
)
def test_wrong_arguments_are_refused(
    decorator: Any, given: tuple[Any, ...], named: dict[str, Any]
) -> None:
    point_ = point(decorator)
    for _ in range(2):  # the first instance is made in another way than the rest
        with pytest.raises(TypeError, match=r"Point\.__init__\(\)"):
            point_(*given, **named)


def test_frozen_records_are_copied_and_pickled() -> None:
    one = Named("a", 3)
    assert copy.deepcopy(one) == one == pickle.loads(pickle.dumps(one))


@BOTH
def test_only_a_record_with_a_slot_for_it_can_be_referred_to_weakly(decorator: Any) -> None:
    @decorator(slots=True, frozen=True, weakref_slot=True)
    class Kept:
        x: int = 1

    one = Kept()
    assert weakref.ref(one)() is one == Kept()
    assert [field.name for field in dataclasses.fields(Kept)] == ["x"]
    with pytest.raises(TypeError, match="weak reference"):
        weakref.ref(point(decorator)(1))


def test_an_own_equality_is_kept_with_python_s_rule_for_hashes() -> None:
    @records.dataclass(slots=True, frozen=True)
    class Loose:  # noqa: PLW1641  # the hash that Python and the decorator give it is the point
        text: str

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Loose) and self.text.casefold() == other.text.casefold()

    assert Loose("A") == Loose("a")
    assert hash(Loose("a")) == hash(Loose("a"))


def test_classes_without_slots_are_refused() -> None:
    with pytest.raises(TypeError, match="only slotted classes"):
        records.slotted(slots=False)
