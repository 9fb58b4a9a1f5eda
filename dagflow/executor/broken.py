"""Runs that can't go on, for a reason of our own: damaged records, and bugs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping


class Broken:
    """The errors of such runs. They are left alone until something about them has changed."""

    def __init__(self) -> None:
        self._errors: dict[str, Exception] = {}
        self._versions: dict[str, int] = {}

    def __contains__(self, run_id: str) -> bool:
        return run_id in self._errors

    def __iter__(self) -> Iterator[str]:
        return iter(tuple(self._errors))

    def add(self, run_id: str, error: Exception, version: int | None) -> None:
        """Note that a run can't go on from this version, or from the one that is looked at next."""
        self._errors[run_id] = error
        self._versions.pop(run_id, None)
        if version is not None:
            self._versions[run_id] = version

    def forget(self, run_id: str) -> bool:
        """Give a run another try; tells whether it was broken."""
        self._versions.pop(run_id, None)
        return self._errors.pop(run_id, None) is not None

    def error_of(self, run_id: str) -> Exception | None:
        """Return why a run can't go on; None for one that can."""
        return self._errors.get(run_id)

    def moved(self, versions: Mapping[str, int]) -> tuple[str, ...]:
        """Return the runs that others have taken further since they broke."""
        here = {run_id: versions[run_id] for run_id in self._errors if run_id in versions}
        return tuple(run for run, at in here.items() if self._versions.setdefault(run, at) != at)
