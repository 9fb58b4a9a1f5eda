"""The version, in one place."""

from __future__ import annotations

VERSION = "0.2.0.dev0"
