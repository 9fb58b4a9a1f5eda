"""host_health against a real Netdata agent, by our excerpt and by Netdata's own document.

Nobody here wrote the agent or its document: what is tested is that dagflow can drive a service
of the world by what that service publishes about itself.
"""

from __future__ import annotations

import json
import re
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path

import pytest

from dagflow.tools.catalog import ToolSource, catalog
from tests.workflows.desk import Desk, lacking

PUBLISHED = Path("/usr/share/netdata/web/netdata-swagger.json")
START_SECONDS = 60
PLUGINS = (
    "python.d",
    "go.d",
    "charts.d",
    "apps",
    "ebpf",
    "perf",
    "node.d",
    "fping",
    "tc",
    "slabinfo",
)

CONFIGURATION = """\
[global]
  run as user = root
[directories]
  cache = {folder}/cache
  lib = {folder}/lib
  log = {folder}/log
[db]
  mode = ram
[web]
  bind to = 127.0.0.1
  default port = {port}
[ml]
  enabled = no
[cloud]
  enabled = no
[plugins]
{plugins}
"""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="module")
def agent(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A running agent: host and port of its API."""
    program = shutil.which("netdata", path="/usr/sbin:/usr/bin:/sbin:/bin")
    if program is None:
        lacking("the Debian package netdata-core is not installed")
    folder = tmp_path_factory.mktemp("netdata")
    for name in ("cache", "lib", "log"):
        (folder / name).mkdir()
    port = free_port()
    plugins = "\n".join(f"  {name} = no" for name in PLUGINS)
    configuration = folder / "netdata.conf"
    configuration.write_text(CONFIGURATION.format(folder=folder, port=port, plugins=plugins))
    with subprocess.Popen(
        [program, "-D", "-c", str(configuration), "-P", str(folder / "pid")],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as process:
        try:
            wait_for_load(process, port)
            yield f"127.0.0.1:{port}"
        finally:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()


def wait_for_load(process: subprocess.Popen[bytes], port: int) -> None:
    """Come back when the agent has measured the load at least once."""
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end:
        assert process.poll() is None, "netdata ended by itself"
        if measured(port):
            return
        time.sleep(0.2)
    pytest.fail(f"netdata had no load to tell within {START_SECONDS} s")


def measured(port: int) -> bool:
    query = "chart=system.load&after=-60&points=12&group=average&format=json"
    connection = HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", f"/api/v1/data?{query}")
        rows = json.loads(connection.getresponse().read())["data"]
    except (OSError, ValueError, KeyError):
        return False
    else:
        return any(row[-1] for row in rows)
    finally:
        connection.close()


@pytest.mark.usefixtures("sandbox")
@pytest.mark.parametrize("document", ["excerpt", "published"])
def test_host_health_asks_a_real_agent(desk: Desk, agent: str, document: str) -> None:
    desk.replace("host_health.yaml", "127.0.0.1:19999", agent)
    if document == "published":
        use_published(desk)

    ended = desk.run("host_health", busy_load=0)

    outputs = ended.outputs
    assert re.match(r"v?[0-9]+[.][0-9]+", outputs["agent"])
    assert outputs["load"] > 0
    # a load above 0 is "busy" here, unless the agent knows of something worse
    assert outputs["word"] in {"busy", "trouble"}
    numbers = ended.view["steps"]["numbers"]["output"]
    assert (outputs["word"] == "trouble") == (numbers["critical"] > 0)


@pytest.mark.usefixtures("sandbox")
def test_a_host_below_its_limit_is_calm(desk: Desk, agent: str) -> None:
    desk.replace("host_health.yaml", "127.0.0.1:19999", agent)

    ended = desk.run("host_health", busy_load=10000)

    numbers = ended.view["steps"]["numbers"]["output"]
    expected = "trouble" if numbers["critical"] else "busy" if numbers["warning"] else "calm"
    assert ended.outputs["word"] == expected


def test_every_operation_of_the_published_document_is_known(desk: Desk) -> None:
    use_published(desk)
    text = (desk.folder / "netdata.openapi.yaml").read_text()

    found = catalog({"netdata": ToolSource(text=text, location="netdata-swagger.json")})

    assert found.problems == ()
    written = json.loads(text)["paths"]
    operations = sum(len(set(path) - {"parameters"}) for path in written.values())
    assert len(found.tools["netdata"].operations) == operations > 10


def use_published(desk: Desk) -> None:
    """Put Netdata's own document in the place of our excerpt, as it is."""
    if not PUBLISHED.is_file():
        lacking("the Debian package netdata-web is not installed")
    shutil.copyfile(PUBLISHED, desk.folder / "netdata.openapi.yaml")
