"""The stores, as a fixture."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from dagflow.store.base import RunStore
from tests.contract.stores import STORES


@pytest.fixture(params=STORES)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[RunStore]:
    """One store of each kind."""
    made = STORES[request.param](tmp_path)
    yield made
    made.close()
