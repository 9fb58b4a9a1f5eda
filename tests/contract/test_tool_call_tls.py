"""TLS: the name in the URL is the one that is asked for and proved, whatever was dialled."""

from __future__ import annotations

import shutil
import ssl
import subprocess
from pathlib import Path

import pytest

from dagflow.core.errors import StepError
from dagflow.tools.egress import Allowed, Egress
from tests.contract.tool_calls import called, compiled
from tests.contract.tool_server import serving

NAME = "desk.internal"


async def loopback(host: str, port: int) -> tuple[str, ...]:
    return ("127.0.0.1",)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed, so no certificate can be made")
    folder = tmp_path_factory.mktemp("tls")
    key, cert = folder / "key.pem", folder / "cert.pem"
    subprocess.run(
        (
            "openssl",
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:prime256v1",
            "-nodes",
            "-keyout",
            key,
            "-out",
            cert,
            "-days",
            "2",
            "-subj",
            f"/CN={NAME}",
            "-addext",
            f"subjectAltName=DNS:{NAME}",
        ),
        check=True,
        capture_output=True,
        timeout=60,
    )
    return key, cert


def context(certificate: tuple[Path, Path], asked: list[str | None]) -> ssl.SSLContext:
    key, cert = certificate
    found = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    found.load_cert_chain(cert, key)
    found.sni_callback = lambda _, name, __: asked.append(name)
    return found


def test_the_urls_name_is_in_sni_and_host(certificate: tuple[Path, Path]) -> None:
    asked: list[str | None] = []
    with serving(tls=context(certificate, asked)) as server:
        egress = Egress(allowed=(Allowed(NAME, server.port),))

        output = called(
            compiled({}, f"https://{NAME}:{server.port}"),
            egress=egress,
            client={"resolve": loopback, "ca_file": str(certificate[1])},
        )

    assert output["status"] == 204
    assert asked == [NAME]
    assert server.received[0].headers["host"] == f"{NAME}:{server.port}"


@pytest.mark.parametrize(("name", "trusted"), [("other.internal", True), (NAME, False)])
def test_a_server_that_can_not_prove_the_name_is_a_network_error(
    certificate: tuple[Path, Path], name: str, trusted: bool
) -> None:
    with serving(tls=context(certificate, [])) as server:
        egress = Egress(allowed=(Allowed(name, server.port),))
        ca_file = str(certificate[1]) if trusted else ""

        with pytest.raises(StepError) as caught:
            called(
                compiled({}, f"https://{name}:{server.port}"),
                egress=egress,
                client={"resolve": loopback, "ca_file": ca_file},
            )

    assert caught.value.error_class == "network"
    assert server.received == []
