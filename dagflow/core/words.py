"""Words of messages: the name that was probably meant, and lists as people write them."""

from __future__ import annotations

from collections.abc import Iterable


def closest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name nearest to `name`, whatever its case, or None."""
    from difflib import get_close_matches  # a file without mistakes needs none

    by_fold = {candidate.casefold(): candidate for candidate in sorted(known)}
    found = get_close_matches(name.casefold(), by_fold, n=1, cutoff=0.6)
    return by_fold[found[0]] if found else None


def nearest(name: str, known: Iterable[str]) -> str:
    """Return "; did you mean 'x'?" for the known name nearest to `name`, or ""."""
    found = closest(name, known)
    return f"; did you mean {found!r}?" if found else ""


def listed(words: Iterable[str], *, last: str = "or", limit: int | None = 6) -> str:
    """Return "a, b or c"; past `limit` words, how many more there are."""
    every = list(words)
    if limit is not None and len(every) > limit:
        every = [*every[:limit], f"{len(every) - limit} more"]
        last = "and"
    *before, end = every or [""]
    return f"{', '.join(before)} {last} {end}" if before else end
