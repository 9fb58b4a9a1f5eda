"""The steps of one block as the simulation sees them."""

from __future__ import annotations

from dagflow.core.records import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Network:
    """Steps by number, each after all that it waits for.

    `certain` are those that every successful run makes: no guard, branch, join or handler can
    leave them out. A run makes at least the certain ones, and at most all of them.
    """

    steps: tuple[str, ...]
    before: tuple[tuple[int, ...], ...]
    certain: tuple[bool, ...]

    @property
    def is_fixed(self) -> bool:
        """Tell whether every successful run makes the same steps."""
        return all(self.certain)


def levels(network: Network) -> list[list[int]]:
    """Return the steps in layers: each waits only for steps of layers before its own."""
    level: list[int] = []
    found: list[list[int]] = []
    for number, sources in enumerate(network.before):
        own = 1 + max((level[source] for source in sources), default=-1)
        level.append(own)
        if own == len(found):
            found.append([])
        found[own].append(number)
    return found
