"""The order of items and turns: which ones begin, when, and what a loop makes of their ends."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from dagflow.core.values import JsonValue
from tests.property.loops.happened import AmbiguousError, End, Seen
from tests.property.loops.parts import Foreach, Repeat


def over_items(
    loop: Foreach,
    count: int,
    whole: dict[int, End],
    since: int,
    item: Callable[[int, int], End | None],
) -> Seen:
    """Begin items while there is room and few failed; those that go well join `whole`.

    `item(index, at)` begins one and returns what it comes to, if that is known. Those that are
    whole already are not begun.
    """
    todo = [index for index in range(count) if index not in whole]
    begun: dict[int, End | None] = {}
    now: int | None = since
    while now is not None:
        at = now
        ends = [it for it in begun.values() if it is not None and it.at <= at]
        going = sum(bool(it.error) for it in ends) <= loop.tolerate
        room = loop.concurrency - (len(begun) - len(ends)) if going else 0
        fresh = todo[len(begun) :][:room]
        begun.update({index: item(index, at) for index in fresh})
        if not fresh:
            if len(begun) < len(todo) and loop.concurrency > 1:
                _refuse_ambiguous(loop.tolerate, ends, at)
            later = (it.at for it in begun.values() if it is not None and it.at > at)
            now = min(later, default=None)
    whole.update({index: it for index, it in begun.items() if it is not None and not it.error})
    return _listed(loop, count, whole, begun, since)


def _refuse_ambiguous(tolerate: int, ends: list[End], now: int) -> None:
    """Leave alone what depends on which of the items that ended just now is looked at first."""
    group = [it for it in ends if it.at == now]
    failed = sum(bool(it.error) for it in ends)
    before = failed - sum(bool(it.error) for it in group)
    if len(group) > 1 and before <= tolerate < failed:
        raise AmbiguousError


def _listed(
    loop: Foreach,
    count: int,
    whole: Mapping[int, End],
    begun: Mapping[int, End | None],
    since: int,
) -> Seen:
    ends = {index: end for index, end in begun.items() if end is not None}
    failed = sorted(index for index, end in ends.items() if end.error)
    at = max([since, *(end.at for end in ends.values())])
    if len(ends) < len(begun):
        return Seen("open", errors=failed)
    if len(failed) > loop.tolerate:
        return Seen("failed", error=ends[failed[0]].error, errors=failed, at=at)
    values = [whole[index].value if index in whole else None for index in range(count)]
    return Seen("succeeded", values, errors=failed, at=at)


def over_turns(loop: Repeat, since: int, turn: Callable[[int, JsonValue, int], End | None]) -> Seen:
    """Make turns until one is the last; `turn(number, previous, at)` makes one of them."""
    end = End(since, {})
    for number in range(loop.max):
        made = turn(number, end.value, end.at)
        if made is None:
            return Seen("open")
        end = made
        if end.error:
            return Seen("failed", error=end.error, at=end.at)
        if end.is_last:
            return Seen("succeeded", end.value, at=end.at)
    if loop.on_max == "succeed":
        return Seen("succeeded", end.value, at=end.at)
    return Seen("failed", error="exhausted", at=end.at)
