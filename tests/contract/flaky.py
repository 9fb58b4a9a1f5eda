"""A store that can't be reached for a moment."""

from __future__ import annotations

from typing import Any

from dagflow.core.errors import UnavailableError
from dagflow.store.base import RunStore


class Flaky:
    """Passes everything on; the `nth` next call of a method, on a run if one is named, fails."""

    def __init__(self, store: RunStore) -> None:
        self._store = store
        self._fails: tuple[str, str, int] | None = None
        self.failed = 0

    def fail(self, method: str, run_id: str = "", nth: int = 1) -> None:
        """Let a coming call fail, once."""
        self._fails = (method, run_id, nth)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._store, name)
        if self._fails is None or self._fails[0] != name:
            return found

        def called(*args: Any, **options: Any) -> Any:
            self._count(args[0] if args else "")
            return found(*args, **options)

        return called

    def _count(self, first: Any) -> None:
        if self._fails is None:
            return
        method, run_id, nth = self._fails
        about = first if isinstance(first, str) else getattr(getattr(first, "run", None), "id", "")
        if run_id and run_id != about:
            return
        self._fails = (method, run_id, nth - 1) if nth > 1 else None
        if nth == 1:
            self.failed += 1
            raise UnavailableError("the database can't be reached")
