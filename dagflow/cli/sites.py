"""What a command is told of the site: by a file, or by what was recorded here."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from datetime import timedelta

from dagflow.core.site import NOWHERE_YET, Site, Window


def site_of(path: str | None, *, recorded: bool = False) -> Site:
    """Return what a site file says; with `recorded`, with what this database's runs recorded.

    Raises `UsageError` for a file with mistakes, `UnavailableError` without a database.
    """
    site = NOWHERE_YET
    if path:
        from dagflow.service.site.reading import read_site

        site = read_site(path)
    if recorded:
        site = replace(site, history=tuple(window for _, window in recorded_here(60.0)))
    return site


def recorded_here(seconds: float) -> tuple[tuple[str, Window], ...]:
    """Return the windows that the database of this folder has recorded, oldest first."""
    from dagflow import settings
    from dagflow.service.site.recorded import recorded
    from dagflow.wiring import open_store

    with closing(open_store(settings.read())) as store:
        return recorded(store, window=timedelta(seconds=seconds))
