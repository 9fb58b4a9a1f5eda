"""What the surroundings say: environment variables, read once, as values."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from dagflow.core.errors import UsageError


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How this process is to work.

    `database` is an SQLAlchemy URL; `secrets` the values by name, whose `repr` is hidden;
    `allow_loopback` lets tools be called on this machine (the embedded default).
    """

    database: str
    unsafe_no_sandbox: bool = False
    allow_loopback: bool = True
    concurrency: int = 8
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def state(self) -> Path:
        """Return the folder for reports and caches beside the database."""
        if self.database.startswith("sqlite:///"):
            return Path(self.database.removeprefix("sqlite:///")).parent
        return Path(".dagflow")


DEFAULT_DATABASE = "sqlite:///.dagflow/dagflow.db"
_SMALL = re.compile(r"[0-9]{1,5}")
SECRET_PREFIX = "DAGFLOW_SECRET_"  # noqa: S105  # a prefix of names, not a secret


def read(environment: Mapping[str, str] | None = None, *, unsafe: bool = False) -> Settings:
    """Return the settings that the environment gives.

    DAGFLOW_DATABASE (a URL, or a path of an SQLite file), DAGFLOW_CONCURRENCY, and
    DAGFLOW_SECRET_<NAME> for each secret. Raises `UsageError` for a value that makes no sense.
    """
    found = os.environ if environment is None else environment
    return Settings(
        database=_database(found.get("DAGFLOW_DATABASE", "")),
        unsafe_no_sandbox=unsafe,
        concurrency=_count(found, "DAGFLOW_CONCURRENCY", 8),
        secrets={
            name.removeprefix(SECRET_PREFIX): value
            for name, value in found.items()
            if name.startswith(SECRET_PREFIX)
        },
    )


def _database(text: str) -> str:
    if not text:
        return DEFAULT_DATABASE
    return text if "://" in text else f"sqlite:///{text}"


def _count(environment: Mapping[str, str], name: str, default: int) -> int:
    text = environment.get(name, str(default))
    if not _SMALL.fullmatch(text) or not 1 <= int(text) <= 10_000:  # noqa: PLR2004
        raise UsageError(f"{name} is {text!r}", remedy="give a whole number from 1 to 10000")
    return int(text)
