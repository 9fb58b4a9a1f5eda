"""What is certain without running: which steps can run, what may be absent, which guards hold."""

from __future__ import annotations
