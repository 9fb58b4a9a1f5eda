"""Which addresses dagflow may reach: every name is resolved once, checked, and dialled as checked.

Documents, responses and models are not trusted to name a host. Private, loopback and otherwise
special addresses are refused unless the operator allowed that host and port; the deny-list is
written out, because `ipaddress.is_global` differs between versions of Python and lets NAT64 and
multicast through.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Awaitable, Callable
from typing import Final, TypeAlias

from dagflow.core.errors import StepError
from dagflow.core.records import dataclass

Address: TypeAlias = "ipaddress.IPv4Address | ipaddress.IPv6Address"
Network: TypeAlias = "ipaddress.IPv4Network | ipaddress.IPv6Network"
Resolve: TypeAlias = Callable[[str, int], Awaitable[tuple[str, ...]]]
"""Turns a host name into every address it has."""

PORTS: Final = frozenset({80, 443, 8080, 8443})

_DENIED: Final[tuple[tuple[Network, str], ...]] = tuple(
    (ipaddress.ip_network(text), what)
    for text, what in (
        ("0.0.0.0/8", "an unspecified address"),
        ("10.0.0.0/8", "a private address"),
        ("100.64.0.0/10", "a carrier's shared address"),
        ("127.0.0.0/8", "a loopback address"),
        ("169.254.0.0/16", "a link-local address (cloud metadata lives there)"),
        ("172.16.0.0/12", "a private address"),
        ("192.0.0.0/24", "a protocol-reserved address"),
        ("192.0.2.0/24", "a documentation address"),
        ("192.88.99.0/24", "a 6to4 relay"),
        ("192.168.0.0/16", "a private address"),
        ("198.18.0.0/15", "a benchmarking address"),
        ("198.51.100.0/24", "a documentation address"),
        ("203.0.113.0/24", "a documentation address"),
        ("224.0.0.0/4", "a multicast address"),
        ("240.0.0.0/4", "a reserved address"),
        ("::/128", "an unspecified address"),
        ("::1/128", "a loopback address"),
        ("::/96", "an IPv4-compatible address"),
        ("::ffff:0:0/96", "an IPv4-mapped address"),
        ("64:ff9b::/96", "a NAT64 address"),
        ("64:ff9b:1::/48", "a NAT64 address"),
        ("100::/64", "a discard-only address"),
        ("2001::/23", "a protocol-reserved address"),
        ("2001:db8::/32", "a documentation address"),
        ("2002::/16", "a 6to4 address"),
        ("3fff::/20", "a documentation address"),
        ("fc00::/7", "a private address"),
        ("fe80::/10", "a link-local address"),
        ("fec0::/10", "a site-local address"),
        ("ff00::/8", "a multicast address"),
    )
)


@dataclass(frozen=True, slots=True)
class Allowed:
    """A private place the operator opened: `host` is a name, an address or a network (CIDR)."""

    host: str
    port: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Egress:
    """What outgoing calls may reach.

    `loopback` lets a server whose URL is *literally* loopback (`localhost`, `127.0.0.1`, `::1`)
    be called, on any port; a name that merely resolves there stays refused. `ports` are those
    of public addresses. `allowed` are the operator's exceptions.
    """

    loopback: bool = False
    ports: frozenset[int] = PORTS
    allowed: tuple[Allowed, ...] = ()

    async def addresses(self, host: str, port: int, resolve: Resolve) -> tuple[str, ...]:
        """Resolve a host once and return its addresses, all of them checked.

        Raises `StepError` (network) when any of them is refused, or there is none.
        """
        name = normalised(host)
        literal = _address(name)
        found = (name,) if literal is not None else await resolve(name, port)
        if not found:
            raise _refused(f"{name} has no address", "check the host's name")
        for text in found:
            self._check(name, port, text)
        return tuple(found)

    def _check(self, name: str, port: int, text: str) -> None:
        address = _address(text.partition("%")[0])
        if address is None:
            raise _refused(f"{name} resolved to {text!r}, which is no address")
        if self._is_allowed(name, port, address):
            return
        if self.loopback and _is_literal_loopback(name) and address.is_loopback:
            return
        what = denial(address)
        if what:
            where = name if name == text else f"{name} ({text})"
            raise _refused(f"{where} is {what}, which calls may not reach", _opened_by(name, port))
        if port not in self.ports:
            message = f"port {port} of {name} is not among {sorted(self.ports)}"
            raise _refused(message, _opened_by(name, port))

    def _is_allowed(self, name: str, port: int, address: Address) -> bool:
        return any(
            entry.port == port and (entry.host.lower() == name or _contains(entry.host, address))
            for entry in self.allowed
        )


def denial(address: Address) -> str:
    """Return what makes an address one that calls may not reach, or ""."""
    for network, what in _DENIED:
        if address.version == network.version and address in network:
            return what
    return "" if address.is_global else "not a public address"


def _refused(message: str, remedy: str = "") -> StepError:
    """Return the error of a call that was never dialled."""
    return StepError("network", message, remedy=remedy, unsent=True)


def _opened_by(name: str, port: int) -> str:
    where = f"{name}:{port}"
    return f"only a program that embeds dagflow can open {where}: `Egress(allowed=…)`"


def normalised(host: str) -> str:
    """Return a host in lower case without brackets or a last dot.

    Raises `StepError` (network) for a host that only looks like an address: decimal, octal, hex
    and short forms (`2130706433`, `0177.0.0.1`, `0x7f.1`), which resolvers read as IPv4.
    """
    name = host.strip("[]").lower().removesuffix(".")
    if not name or re.search(r"[\s/\\@#?%]|[^\x21-\x7e]", name):
        raise _refused(f"{host!r} is not a host", "write its plain name")
    last = name.rpartition(".")[2]
    if re.fullmatch(r"[0-9]+|0x[0-9a-f]*", last) and _address(name) is None:
        message = f"{host!r} is an address in an unusual form"
        raise _refused(message, "write it as four decimal numbers")
    return name


def _is_literal_loopback(name: str) -> bool:
    address = _address(name)
    return name == "localhost" if address is None else address.is_loopback


def _address(text: str) -> Address | None:
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None


def _contains(host: str, address: Address) -> bool:
    try:
        network = ipaddress.ip_network(host)
    except ValueError:
        return False
    return network.version == address.version and address in network
