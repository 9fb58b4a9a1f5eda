"""The OpenAPI document: valid, complete, and true."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from openapi_spec_validator import validate

from tests.api.served import ASKS, HELLO, WAITS, Client, served

ROOT = Path(__file__).parents[2]
TOOL = Path(os.environ.get("DAGFLOW_SCHEMATHESIS", ROOT / ".venv/schemathesis/bin/schemathesis"))
CHECKS = (
    "not_a_server_error,status_code_conformance,content_type_conformance,"
    "response_headers_conformance,response_schema_conformance,negative_data_rejection,"
    "unsupported_method,allow_header_conformance"
)
OPERATIONS = {
    "check_workflow", "register_workflow", "list_workflows", "get_workflow", "list_versions",
    "get_version", "get_report", "get_graph", "submit_run", "list_runs", "get_run", "get_steps",
    "get_events", "cancel_run", "pause_run", "resume_run", "send_signal", "settle_step",
    "list_approvals", "get_approval", "decide_approval", "live", "ready",
}  # fmt: skip


KNOWN = """\
[parameters]
"path.name" = ["hello", "waits", "go", "none"]
"path.step" = ["go", "ask", "none"]
"path.run_id" = %s
"path.approval_id" = %s
"""


def known(api: Client) -> tuple[str, str]:
    """Return ids of runs and approvals that are there, and one that is not."""
    runs = [api.start("waits"), api.start("asks", {"ticket": "T"}), api.start("waits"), "none"]
    asked = [it["id"] for it in api.get("/v1/approvals").json["approvals"]]
    return json.dumps(runs), json.dumps([*asked, "none"])


def test_the_document_is_valid_and_names_every_operation(api: Client) -> None:
    document = api.get("/openapi.json").json
    operations = [it for path in document["paths"].values() for it in path.values()]

    validate(document)
    assert {it["operationId"] for it in operations} == OPERATIONS
    for operation in operations:
        problems = {code: it for code, it in operation["responses"].items() if code >= "400"}
        assert {"403", "421", "500", "503"} <= problems.keys()
        assert all(set(it["content"]) == {"application/problem+json"} for it in problems.values())
        assert operation["summary"]
        assert operation["description"]


def test_every_body_is_described(api: Client) -> None:
    document = api.get("/openapi.json").json
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            for code, answer in operation["responses"].items():
                for media in answer.get("content", {}).values():
                    assert media["schema"], (path, method, code)
            reads = {"413"} <= operation["responses"].keys()
            assert ("requestBody" in operation) == reads, (path, method)


@pytest.mark.parametrize("seed", [1])
def test_random_requests_find_nothing(tmp_path: Path, seed: int) -> None:
    if not TOOL.exists():
        reason = f"{TOOL} is not there: install schemathesis==4.32.5 in an environment of its own"
        pytest.fail(reason) if os.environ.get("CI") == "true" else pytest.skip(reason)
    examples = "60" if os.environ.get("DAGFLOW_FULL") else "8"
    with served(tmp_path) as api:
        for source in (HELLO, WAITS, ASKS):
            api.register(source)
        (tmp_path / "schemathesis.toml").write_text(KNOWN % known(api))
        done = subprocess.run(
            [
                str(TOOL), "run", f"http://127.0.0.1:{api.port}/openapi.json",
                "--checks", CHECKS, "--seed", str(seed), "--max-examples", examples,
                "--phases", "examples,coverage,fuzzing", "--no-color", "--workers", "1",
                "--request-timeout", "20", "--continue-on-failure",
            ],
            cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False,
        )  # fmt: skip

    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-1000:]


def test_the_committed_document_is_the_served_one(api: Client) -> None:
    committed = (ROOT / "schemas" / "api.v1.json").read_text("utf-8")

    assert json.loads(committed)["paths"] == api.get("/openapi.json").json["paths"]


def test_generated_files_are_as_generated() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "scripts.generate", "--check"],
        cwd=ROOT, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip

    assert (done.returncode, done.stderr) == (0, "")


def test_the_page_for_users_names_every_operation_and_no_other(api: Client) -> None:
    page = (ROOT / "docs" / "api.md").read_text("utf-8").partition("## Check")[0]
    document = api.get("/openapi.json").json
    served_ = {
        f"{method.upper()} {path}" for path, it in document["paths"].items() for method in it
    }

    assert set(re.findall(r"`((?:GET|PUT|POST) /[^`]+)`", page)) == served_
