"""One server for the tests that don't need their own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.api.served import ASKS, HELLO, WAITS, Client, served


@pytest.fixture(scope="session")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """A server with three workflows."""
    with served(tmp_path_factory.mktemp("api")) as client:
        for source in (HELLO, WAITS, ASKS):
            client.register(source)
        yield client
