"""The deployment service of the examples: `python workflows/services/deployer.py [PORT]`.

Keeps the version of each stage in memory and serves `deployer.openapi.yaml` on loopback.
"""

from __future__ import annotations

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

PORT = 18766


class Deployer(BaseHTTPRequestHandler):
    """Handles the four operations. `log` and `versions` are there for whoever looks."""

    protocol_version = "HTTP/1.1"
    versions: ClassVar[dict[str, str]] = {"canary": "1.0.0", "fleet": "1.0.0"}
    errors: ClassVar[dict[str, int]] = {"canary": 0, "fleet": 0}
    log: ClassVar[list[dict[str, Any]]] = []

    def do_GET(self) -> None:  # the name http.server calls
        """Answer `GET /stages/{stage}/health`."""
        stage = self._stage("/health")
        if stage is None:
            self._answer(404, {"error": "no such path"})
            return
        self._answer(200, {"version": self.versions[stage], "errors": self.errors[stage]})

    def do_PUT(self) -> None:  # the name http.server calls
        """Deploy, or roll back."""
        body = self._body()
        if stage := self._stage(""):
            previous = self.versions[stage]
            if previous != body["version"]:
                self.versions[stage] = body["version"]
            self._answer(200, {"version": body["version"], "previous": previous})
        elif stage := self._stage("/rollback"):
            self.versions[stage] = body["to"]
            self.log.append({"rollback": stage, "to": body["to"]})
            self._answer(204, None)
        else:
            self._answer(404, {"error": "no such path"})

    def do_POST(self) -> None:  # the name http.server calls
        """Add to the release log."""
        self.log.append(self._body())
        self._answer(201, None)

    def _stage(self, ending: str) -> str | None:
        name = self.path.removeprefix("/stages/").removesuffix(ending)
        fits = self.path == f"/stages/{name}{ending}"
        return name if fits and name in self.versions else None

    def _body(self) -> dict[str, Any]:
        length = int(self.headers.get("Content-Length", "0"))
        found: dict[str, Any] = json.loads(self.rfile.read(length) or b"{}")
        return found

    def _answer(self, status: int, value: object) -> None:
        data = b"" if value is None else json.dumps(value).encode()
        self.send_response(status)
        if value is not None:
            self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """Keep quiet."""


def main() -> None:
    """Serve until stopped."""
    port = int(sys.argv[1]) if len(sys.argv) > 1 else PORT
    ThreadingHTTPServer(("127.0.0.1", port), Deployer).serve_forever()


if __name__ == "__main__":
    main()
