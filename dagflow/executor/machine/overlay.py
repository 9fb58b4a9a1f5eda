"""A run as it would be after some changes, over a run that stays as it is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, TypeVar

from dagflow.core.run import Run, StepRecord

V = TypeVar("V")


class Overlay(dict[str, V]):
    """A dict whose entries hide those of `base`, which is never written."""

    __slots__ = ("base", "gone")

    def __init__(self, base: dict[str, V]) -> None:
        super().__init__()
        self.base = base
        self.gone: set[str] = set()

    def __missing__(self, key: str) -> V:
        if key in self.gone:
            raise KeyError(key)
        return self.base[key]

    def get(self, key: str, default: V | None = None) -> V | None:  # type: ignore[override]  # only what is used here
        """Return the value, or the default."""
        if dict.__contains__(self, key):
            return dict.__getitem__(self, key)
        if key in self.gone:
            return default
        return self.base.get(key, default)

    def __contains__(self, key: object) -> bool:
        if dict.__contains__(self, key):
            return True
        return key in self.base and key not in self.gone

    def __delitem__(self, key: str) -> None:
        if dict.__contains__(self, key):
            super().__delitem__(key)
        self.gone.add(key)

    def __setitem__(self, key: str, value: V) -> None:
        super().__setitem__(key, value)
        self.gone.discard(key)

    def __iter__(self) -> Iterator[str]:
        for key in self.base:
            if key not in self.gone and not dict.__contains__(self, key):
                yield key
        yield from super().__iter__()


_MAPPINGS: Final = frozenset(
    {"steps", "signals", "done", "active", "running", "held_back", "let_go"}
)
_FIELDS: Final = tuple(name for name in Run.__slots__ if name not in _MAPPINGS)
_RECORD: Final = tuple(StepRecord.__slots__)


class Shadow(Run):
    """A run to try changes on: `apply` is `Run.apply`, the run beneath stays untouched."""

    __slots__ = ()

    def __init__(self, run: Run) -> None:
        for name in _FIELDS:
            setattr(self, name, getattr(run, name))
        self.steps = Overlay(run.steps)
        self.signals = Overlay(run.signals)
        self.done = Overlay(run.done)
        self.active = Overlay(run.active)
        self.running = Overlay(run.running)
        self.held_back = Overlay(run.held_back)
        self.let_go = Overlay(run.let_go)

    def _writable(self, path: str) -> StepRecord:
        steps = self.steps
        if dict.__contains__(steps, path):
            return steps[path]
        base = steps.base  # type: ignore[attr-defined]  # an Overlay, made above
        record = steps[path] = _copy(base[path]) if path in base else StepRecord(path=path)
        return record


def _copy(record: StepRecord) -> StepRecord:
    copied = StepRecord.__new__(StepRecord)
    for name in _RECORD:
        setattr(copied, name, getattr(record, name))
    return copied
