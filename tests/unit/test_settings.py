"""What the environment says."""

from __future__ import annotations

import pytest

from dagflow.core.errors import UsageError
from dagflow.settings import read


@pytest.mark.parametrize("text", ["²", "٣", "0", "10001", "-1", "1.5", "", " 4", "9" * 5000])
def test_a_concurrency_that_is_no_number_from_1_to_10000_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="DAGFLOW_CONCURRENCY is"):
        read({"DAGFLOW_CONCURRENCY": text})


@pytest.mark.parametrize("count", [1, 8, 10_000])
def test_a_concurrency_is_read(count: int) -> None:
    assert read({"DAGFLOW_CONCURRENCY": str(count)}).concurrency == count
