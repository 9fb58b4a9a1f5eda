"""The real model of the tests, converted and loaded once for all of them."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from functools import cache
from pathlib import Path

import pytest

from dagflow.core.errors import UsageError
from dagflow.llm.installed import DEFAULT_MODEL, check_libraries, model_file


def installed_file() -> Path:
    """Return the model's file; without it the test is skipped, or fails where CI is true."""
    try:
        check_libraries()
        return model_file(DEFAULT_MODEL)
    except UsageError as error:
        reason = f"{error}; {error.remedy}"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)


@cache
def cache_of_session() -> Path:
    """Return a folder that is empty before the session and gone after it."""
    folder = Path(tempfile.mkdtemp(prefix="dagflow-llm-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


@cache
def loaded(precision: str = "float32"):
    """Return the model in memory, in full precision unless asked otherwise."""
    import torch

    from dagflow.llm.models.weights import load_model

    # more threads gain little at this size, and lose much on a busy machine
    torch.set_num_threads(1)
    return load_model(installed_file(), cache_of_session(), precision)


@cache
def engine(precision: str = "float32"):
    """Return an engine over `loaded`, of which all tests are the one user at a time."""
    from dagflow.llm.load import engine_of

    return engine_of(loaded(precision))
