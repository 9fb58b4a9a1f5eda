"""The alert service of the examples: `python workflows/services/alerts.py [PORT]`.

Keeps alerts in memory and serves `alerts.openapi.yaml` on loopback. A repeated
`Idempotency-Key` gives the alert that the first request raised.
"""

from __future__ import annotations

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar
from urllib.parse import parse_qs, urlsplit

PORT = 18765


class Alerts(BaseHTTPRequestHandler):
    """Handles `GET` and `POST /v1/alerts`."""

    protocol_version = "HTTP/1.1"
    alerts: ClassVar[list[dict[str, Any]]] = []
    by_key: ClassVar[dict[str, dict[str, Any]]] = {}

    def do_GET(self) -> None:  # the name http.server calls
        """List alerts, of one severity if asked."""
        url = urlsplit(self.path)
        if url.path != "/v1/alerts":
            self._answer(404, {"error": "no such path"})
            return
        wanted = parse_qs(url.query).get("severity")
        found = [it for it in self.alerts if not wanted or it["severity"] in wanted]
        self._answer(200, {"alerts": found})

    def do_POST(self) -> None:  # the name http.server calls
        """Raise an alert, once for each idempotency key."""
        body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        if self.path != "/v1/alerts":
            self._answer(404, {"error": "no such path"})
            return
        key = self.headers.get("Idempotency-Key", "")
        if key not in self.by_key or not key:
            new = json.loads(body)
            alert = {"id": len(self.alerts) + 1, **new}
            self.alerts.append(alert)
            self.by_key[key] = alert
            print(f"ALERT [{alert['severity']}] {alert['title']}", file=sys.stderr, flush=True)
        self._answer(201, self.by_key[key])

    def _answer(self, status: int, value: object) -> None:
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """Keep quiet: alerts are the only output."""


def main() -> None:
    """Serve until stopped."""
    port = int(sys.argv[1]) if len(sys.argv) > 1 else PORT
    ThreadingHTTPServer(("127.0.0.1", port), Alerts).serve_forever()


if __name__ == "__main__":
    main()
