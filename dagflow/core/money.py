"""Money: exact amounts as whole picos, and what models and tools ask for.

A pico is 10⁻¹² of a unit of the currency: one token at a price of 0.000001 for a million. Sums
and products of whole numbers have no rounding noise; only what is shown is rounded.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from decimal import ROUND_CEILING, Decimal
from typing import Final

from dagflow.core.records import dataclass
from dagflow.core.values import JsonValue

UNIT: Final = 10**12
"""Picos of one unit."""

MILLION: Final = 10**6

_SHOWN: Final = 6
"""Significant digits of an average."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """What a model asks for a token: of the prompt, and of the answer. In picos."""

    prompt: int = 0
    answer: int = 0

    def of(self, prompt: int, answer: int) -> int:
        """Return what so many tokens cost, in picos."""
        return prompt * self.prompt + answer * self.answer


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceList:
    """What a site says that things cost: `models` by name, `tools` by call in picos.

    A model is called by its name at its server, else by its route, else by its name in the
    workflow; a tool's operation by `tool.operationId` or `tool.METHOD /path`, or all operations
    of a tool by the tool's name.
    """

    currency: str = ""
    models: Mapping[str, Price] = field(default_factory=dict)
    tools: Mapping[str, int] = field(default_factory=dict)


def picos(amount: float) -> int:
    """Return an amount in whole picos, rounded up. The decimals are those that were written."""
    return int((Decimal(str(amount)) * UNIT).to_integral_value(ROUND_CEILING))


def price(prompt: float, answer: float) -> Price:
    """Return the price of a token from those of a million."""
    return Price(prompt=_of_a_token(prompt), answer=_of_a_token(answer))


def price_in(route: Mapping[str, JsonValue]) -> Price | None:
    """Return the price that a model of a plan has, None where it has none."""
    found = route.get("price")
    if not isinstance(found, dict):
        return None
    prompt, answer = found.get("prompt", 0), found.get("answer", 0)
    if isinstance(prompt, int | float) and isinstance(answer, int | float):
        return price(prompt, answer)
    return None


def _of_a_token(million: float) -> int:
    share = Decimal(str(million)) * UNIT / MILLION
    return int(share.to_integral_value(ROUND_CEILING))


def units(amount: float) -> float:
    """Return picos as units of the currency: the nearest double, whose digits are exact."""
    return float(Decimal(int(amount)) / UNIT)


def rounded(amount: float) -> float:
    """Return an average to six significant digits."""
    return float(f"{amount:.{_SHOWN}g}")


def written(amount: float, currency: str = "") -> str:
    """Write units of a currency, never with an exponent: "0.00042 EUR"."""
    text = format(Decimal(str(amount)).normalize(), "f")
    return f"{text} {currency}".rstrip()
