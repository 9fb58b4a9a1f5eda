"""Which hosts and addresses calls may reach."""

from __future__ import annotations

import asyncio

import pytest

from dagflow.core.errors import StepError
from dagflow.tools.egress import Allowed, Egress, normalised

PUBLIC = "93.184.215.14"


STRICT = Egress()


def reach(host: str, port: int = 443, *found: str, egress: Egress = STRICT) -> tuple[str, ...]:
    """Ask for a host's addresses, with a resolver that knows `found` and nothing else."""
    asked: list[str] = []

    async def resolve(name: str, port: int) -> tuple[str, ...]:
        asked.append(name)
        return found

    addresses = asyncio.run(egress.addresses(host, port, resolve))
    assert len(asked) <= 1  # a second look-up could say something else
    return addresses


DENIED = [
    "0.0.0.0", "0.1.2.3", "10.0.0.1", "10.255.255.255", "100.64.0.1", "100.127.255.255",
    "127.0.0.1", "127.8.8.8", "169.254.169.254", "169.254.0.1", "172.16.0.1", "172.31.255.255",
    "192.0.0.8", "192.0.2.1", "192.88.99.1", "192.168.0.1", "192.168.255.255", "198.18.0.1",
    "198.19.255.255", "198.51.100.1", "203.0.113.1", "224.0.0.1", "239.255.255.255",
    "240.0.0.1", "255.255.255.255",
    "::", "::1", "::7f00:1", "fc00::1", "fdff::1", "fe80::1", "febf::1", "fec0::1", "ff02::1",
    "::ffff:127.0.0.1", "::ffff:169.254.169.254", "::ffff:93.184.215.14", "64:ff9b::7f00:1",
    "64:ff9b::a9fe:a9fe", "64:ff9b:1::1", "2002:7f00:1::", "2002:a9fe:a9fe::1", "2001::1",
    "2001:db8::1", "100::1", "3fff::1",
]  # fmt: skip


@pytest.mark.parametrize("address", DENIED)
def test_special_addresses_are_refused_written_out_and_resolved(address: str) -> None:
    literal = f"[{address}]" if ":" in address else address
    for host, found in ((literal, ()), ("tool.example", (address,))):
        with pytest.raises(StepError) as caught:
            reach(host, 443, *found)
        assert caught.value.error_class == "network"
        assert caught.value.remedy


@pytest.mark.parametrize(
    "host",
    ["2130706433", "0177.0.0.1", "0x7f.0.0.1", "0x7f000001", "127.1", "127.0.1", "017700000001",
     "127.0.0.1.2", "1.2.3.256", "192.168.1", "0x", "0"],
)  # fmt: skip
def test_addresses_in_unusual_forms_are_refused_before_a_resolver_reads_them(host: str) -> None:
    with pytest.raises(StepError, match="unusual form"):
        reach(host, 443, PUBLIC)


@pytest.mark.parametrize(
    "host",
    ["", "a b", "allowed@evil.example", "evil.example/x", "a\\b", "b%00", "münchen.example", "a#b"],
)
def test_what_is_no_plain_host_is_refused(host: str) -> None:
    with pytest.raises(StepError, match="is not a host"):
        reach(host, 443, PUBLIC)


@pytest.mark.parametrize(
    "address", [PUBLIC, "1.1.1.1", "172.32.0.1", "100.128.0.1", "2606:4700::1111", "9.255.255.255"]
)
def test_public_addresses_are_reached_as_checked(address: str) -> None:
    assert reach("tool.example", 443, address) == (address,)


def test_one_private_address_among_public_ones_refuses_the_name() -> None:
    with pytest.raises(StepError, match=r"10\.0\.0\.7"):
        reach("tool.example", 443, PUBLIC, "10.0.0.7")


def test_a_last_dot_and_case_change_nothing() -> None:
    assert normalised("Tool.EXAMPLE.") == "tool.example"
    with pytest.raises(StepError):
        reach("LOCALHOST.", 443, "127.0.0.1")
    with pytest.raises(StepError):
        reach("127.0.0.1.", 443)


def test_ports_of_public_hosts_are_a_list() -> None:
    with pytest.raises(StepError, match=r"port 22 of tool\.example"):
        reach("tool.example", 22, PUBLIC)
    assert reach("tool.example", 8443, PUBLIC)


@pytest.mark.parametrize(
    ("host", "found"),
    [("localhost", ("127.0.0.1", "::1")), ("127.0.0.1", ()), ("[::1]", ()), ("127.3.2.1", ())],
)
def test_literal_loopback_is_reached_where_the_policy_says_so(
    host: str, found: tuple[str, ...]
) -> None:
    assert reach(host, 45_123, *found, egress=Egress(loopback=True))
    with pytest.raises(StepError):
        reach(host, 45_123, *found)


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("tool.example", "127.0.0.1"),
        ("localhost.evil.example", "127.0.0.1"),
        ("localhost", "10.0.0.1"),
        ("[::ffff:127.0.0.1]", ""),
    ],
)
def test_only_a_literal_loopback_host_is_loopback(host: str, address: str) -> None:
    with pytest.raises(StepError):
        reach(host, 443, *filter(None, [address]), egress=Egress(loopback=True))


def test_the_operator_opens_a_host_and_port_and_nothing_beside_it() -> None:
    egress = Egress(allowed=(Allowed("desk.internal", 8000), Allowed("10.1.0.0/16", 9000)))

    assert reach("desk.internal", 8000, "10.9.9.9", egress=egress) == ("10.9.9.9",)
    assert reach("other.internal", 9000, "10.1.2.3", egress=egress) == ("10.1.2.3",)
    for host, port, address in (
        ("desk.internal", 8001, "10.9.9.9"),
        ("desk.internal.evil.example", 8000, "10.9.9.9"),
        ("other.internal", 9000, "10.2.0.1"),
        ("other.internal", 9001, "10.1.2.3"),
    ):
        with pytest.raises(StepError):
            reach(host, port, address, egress=egress)


def test_a_name_without_addresses_is_a_network_error() -> None:
    with pytest.raises(StepError, match="no address"):
        reach("tool.example", 443)
